// SPDX-License-Identifier: GPL-2.0
// What the fuzzers of the analysis have in common.
#pragma once

#include <cstdio>
#include <cstdlib>

#include "arch/x86/types.h"

namespace djprobe::x86 {

inline constexpr u64 kText = 0xffffffff81000000;
inline constexpr u64 kSlot = kText + 0x100000;

inline void require(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "broken promise: %s\n", what);
    std::abort();
}

}  // namespace djprobe::x86
