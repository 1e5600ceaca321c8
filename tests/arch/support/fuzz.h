// SPDX-License-Identifier: GPL-2.0
// What the fuzzers of the analysis have in common.
#pragma once

#include "arch/x86/insn/types.h"

namespace djprobe::x86 {

inline constexpr u64 kText = 0xffffffff81000000;
inline constexpr u64 kSlot = kText + 0x100000;

}  // namespace djprobe::x86
