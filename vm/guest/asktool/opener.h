// SPDX-License-Identifier: GPL-2.0
// What an event tells of who has opened it.
#pragma once

#include "seen.h"

namespace djprobe::vm {

/// Events of the kernel's alone where a probe is, and where a jump is: whether their samples have
/// this process's number, whether it can disable all its events, and one for which it may lack the
/// right.
void opener(const Seen& seen);

}  // namespace djprobe::vm
