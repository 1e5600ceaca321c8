// SPDX-License-Identifier: GPL-2.0
// The one instruction that counts, and how it reaches its counter.
#pragma once

#include "emit.h"

namespace djprobe::x86 {

/// `incq %gs:counter`, in any context and exact: the increment is one instruction, which no
/// interrupt, NMI or preemption can split, on a word of this CPU's own, which no other CPU writes;
/// and one instruction finds that word, so that a migration in front of it or behind it changes
/// nothing. It needs no lock prefix. `address` is a register for a counter that is too far from %gs
/// for a displacement; it changes then. It must not be rsp, rbp, r12 or r13.
void increment_per_cpu(i64 counter, u8 address, Emitter& out);

/// `movabs $value, reg`.
void load_constant(u64 value, u8 reg, Emitter& out);

}  // namespace djprobe::x86
