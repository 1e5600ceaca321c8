// SPDX-License-Identifier: GPL-2.0
// What a link tells of itself, asked in right and wrong ways.
#pragma once

#include "seen.h"

namespace djprobe::vm {

/// Prints each answer, in full, for links of all kinds.
void infos(const Seen& plain, const Seen& multi);

}  // namespace djprobe::vm
