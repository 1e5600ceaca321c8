// SPDX-License-Identifier: GPL-2.0
// The one instruction that counts.
#pragma once

#include "counter_operand.h"

namespace djprobe::x86 {

/// `incq %gs:counter`, in any context and exact: the increment is one instruction, which no
/// interrupt, NMI or preemption can split, on a word of this CPU's own, which no other CPU writes;
/// and one instruction finds that word, so that a migration in front of it or behind it changes
/// nothing. It needs no lock prefix.
void increment_per_cpu(const CounterOperand& counter, Emitter& out);

/// The same. `address` is a register for a counter that is far from %gs; it changes then.
void increment_per_cpu(i64 counter, u8 address, Emitter& out);

}  // namespace djprobe::x86
