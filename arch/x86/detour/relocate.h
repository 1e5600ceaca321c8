// SPDX-License-Identifier: GPL-2.0
// Making an instruction do at another address what it does at its own.
#pragma once

#include "../insn/decode.h"
#include "../insn/reason.h"
#include "emit.h"

namespace djprobe::x86 {

/// Longest relocated form: `push $ret` with a movl for the high half, an indirect jmp, an int3.
inline constexpr size_t kMaxRelocated = 5 + 8 + kMaxInsnLength + 1;

/// Append the relocated form of `insn` (whose bytes are `bytes`) to `out`.
///
/// Registers, flags, memory and the flow afterwards are those of the original. A call becomes
/// "push the original return address; jump to the target": no task ever has an address of the
/// copy on its stack, so stack traces stay true and the copy can be freed after quiescence.
/// Falls through behind the copy where the original falls through (a call does not); the caller
/// appends a jump back there. A return is a jump to Emitter::return_thunk() if there is one. Behind
/// a plain return or an indirect jump of its own it has an int3, which stops straight-line
/// speculation.
///
/// OUT_OF_REACH when a displacement does not fit, NOT_RELOCATABLE for what the plan refuses anyway.
Refusal relocate(const Insn& insn, Span<const u8> bytes, Emitter& out);

}  // namespace djprobe::x86
