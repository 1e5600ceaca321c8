// SPDX-License-Identifier: GPL-2.0
// The instructions that make up most of a kernel, decoded without Zydis, which takes far longer.
#pragma once

#include "decode.h"

namespace djprobe::x86 {

/// Decode an instruction of the common forms: an opcode of one byte, or of two behind 0f, in
/// general registers and memory, with at most a gs or an operand-size prefix and a REX prefix, and
/// the nops of padding.
/// False: it is none of these, it ends within `bytes`, or it needs a closer look; decode_any()
/// decides. Pure, any context. Source: Intel SDM vol. 2, 2.1 to 2.2.1 and A.3 (opcode maps).
[[nodiscard]] bool decode_common(Span<const u8> bytes, u64 address, Insn& out);

}  // namespace djprobe::x86
