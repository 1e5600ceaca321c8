// SPDX-License-Identifier: GPL-2.0
// What a detour must know of the program that it calls: the JIT's code of a BPF program.
#pragma once

#include "effects.h"

namespace djprobe::x86 {

/// The caller-saved registers that `function`, which keeps to the C convention, may change. All of
/// them, if it calls or jumps anywhere but to a return thunk, or cannot be decoded. The function's
/// pushes and pops of other registers are trusted to match. Pure.
RegisterSet find_clobbers(const Code& function, Range return_thunks);

/// Where to call a JIT's program so that find_clobbers() stays true: behind the endbr64 and the
/// five-byte nop at its start (and a nop behind that). The kernel replaces that nop by a call when
/// a tracer attaches to the program; the tracer does not see calls that begin behind it. The start,
/// if the program does not begin so.
u64 find_body(const Code& program);

}  // namespace djprobe::x86
