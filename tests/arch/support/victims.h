// SPDX-License-Identifier: GPL-2.0
// Compiled functions for detours: all in the section "victims", whose results are one number.
#pragma once

#include "arch/x86/insn/types.h"

namespace djprobe::test {

/// Where they begin, in any order.
Span<const u64> victims();

/// Runs each of them; what they compute, whatever it is.
u64 run_victims(u64 seed);

}  // namespace djprobe::test
