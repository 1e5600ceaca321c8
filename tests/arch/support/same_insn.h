// SPDX-License-Identifier: GPL-2.0
// Whether the short cut and the whole decoder say the same of an instruction, in every field.
#pragma once

#include <cstdio>
#include <string>
#include <tuple>

#include "arch/x86/insn/common.h"

namespace djprobe::test {

/// All of them: one more in Insn does not compile here.
inline auto fields_of(const x86::Insn& insn) {
    const auto& [address, target, taken, kind, length, modrm_offset, rel_offset, rel_size,
                 rip_disp_offset, taken_offset, immovable, stack_relative] = insn;
    return std::tuple(address, target, taken, kind, length, modrm_offset, rel_offset, rel_size,
                      rip_disp_offset, taken_offset, immovable, stack_relative);
}

/// The short cut does not take these bytes, or says of them what the whole decoder says.
inline bool is_short_cut_right(Span<const u8> bytes, u64 address) {
    x86::Insn common, any;
    if (!x86::decode_common(bytes, address, common)) return true;
    return x86::decode_any(bytes, address, any) && fields_of(common) == fields_of(any);
}

/// Each byte behind a space.
inline std::string hex(Span<const u8> bytes) {
    std::string text;
    char byte_text[4];
    for (const u8 byte : bytes) {
        std::snprintf(byte_text, sizeof byte_text, " %02x", byte);
        text += byte_text;
    }
    return text;
}

}  // namespace djprobe::test
