// SPDX-License-Identifier: GPL-2.0
// The bytes that most instructions have. Source: Intel SDM vol. 2, 2.1 and 2.2.1.
#pragma once

#include "../insn/types.h"

namespace djprobe::x86 {

inline constexpr u8 kGs = 0x65;  ///< the prefix of an operand per CPU
inline constexpr u8 kBySib = 4;  ///< as ModRM.rm: a SIB byte follows; as SIB.index: none

/// REX with W: what extends the register field, the index and the base.
constexpr u8 rex(u8 reg, u8 index, u8 base) {
    return static_cast<u8>(0x48 | (reg > 7) << 2 | (index > 7) << 1 | (base > 7));
}

constexpr u8 modrm(u8 mod, u8 reg, u8 rm) {
    return static_cast<u8>(mod << 6 | (reg & 7) << 3 | (rm & 7));
}

}  // namespace djprobe::x86
