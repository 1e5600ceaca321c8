// SPDX-License-Identifier: GPL-2.0
// Random calls, right and wrong ones.
#pragma once

#include <cstdint>

namespace djprobe::vm {

/// Makes `calls` calls that are the same for the same seed, and prints what each has answered.
/// `plain`, `multi`: programs for events and for kprobe.multi.
void ask_at_random(uint64_t calls, uint64_t seed, int plain, int multi);

}  // namespace djprobe::vm
