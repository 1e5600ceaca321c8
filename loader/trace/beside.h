// SPDX-License-Identifier: GPL-2.0
// Where a trace probes what takes no probe itself, in the running kernel.
#pragma once

#include "trace/find_sites.h"

namespace djprobe::loader {

/// Reads the kernel's text when it is asked for the first time.
FindBeside beside_in_running_kernel();

}  // namespace djprobe::loader
