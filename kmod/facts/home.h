// SPDX-License-Identifier: GPL-2.0
// The function that a CPU comes through before it reaches an address within.
#pragma once

#include "../../arch/x86/insn/reason.h"
#include "own_text.h"

namespace djprobe::kmod {

/// The function's symbol. For NAME.cold it is the function that jumps there and back. Empty at a
/// function's entry, where nothing of it has run, and where no symbol is. NO_MEMORY. Takes the text
/// lock.
Refusal find_home(u64 address, const OwnText& ours, Range& home);

}  // namespace djprobe::kmod
