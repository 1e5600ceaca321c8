// SPDX-License-Identifier: GPL-2.0
// How a compiler jumps through a table of addresses.
#pragma once

#include "decode.h"

namespace djprobe::x86 {

/// Whether `bytes` may begin a jump through a table: `jmp *TABLE(,%reg,8)`, or `notrack jmp`, which
/// compilers use for nothing else. In code that does not move, compilers reach a table by no other
/// instruction.
constexpr bool looks_like_table_jump(Span<const u8> bytes) {
    if (bytes.size() < 3) return false;
    const u8 modrm = bytes[0] == 0xff ? bytes[1] : bytes[2];
    if (bytes[0] == 0xff) return modrm == 0x24 && (bytes[2] & 0xc7) == 0xc5;
    if (bytes[0] != 0x3e) return false;
    const bool rex = bytes[1] >> 4 == 4 && bytes.size() > 3;
    return rex ? bytes[2] == 0xff && (bytes[3] >> 3 & 7) == 4
               : bytes[1] == 0xff && (modrm >> 3 & 7) == 4;
}

/// Whether `insn`, whose bytes these are, is such a jump. Prefixes may precede the first form.
constexpr bool is_table_jump(const Insn& insn, Span<const u8> bytes) {
    if (insn.kind != Kind::IndirectJump) return false;
    for (size_t i = 0; i < insn.modrm_offset; ++i)
        if (looks_like_table_jump(bytes.from(i).first(insn.length - i))) return true;
    return false;
}

}  // namespace djprobe::x86
