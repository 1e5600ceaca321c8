// SPDX-License-Identifier: GPL-2.0
// What the running kernel's text tells of a trace's sites.
#pragma once

#include "trace/find_sites.h"

namespace djprobe::loader {

/// Reads the kernel's text when it is asked for the first time.
Judgement judgement_in_running_kernel(Judge judge);

}  // namespace djprobe::loader
