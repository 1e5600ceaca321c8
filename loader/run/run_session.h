// SPDX-License-Identifier: GPL-2.0
// A tool from its start to its end, with its kprobes placed by djprobe.
#pragma once

#include "run/options.h"

namespace djprobe::loader {

/// The tool's exit status; 128 and the number of a signal that has ended it. Throws Error where the
/// tool cannot be run, and with --strict where djprobe is not there.
int run_tool(const RunOptions& options);

}  // namespace djprobe::loader
