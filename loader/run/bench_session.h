// SPDX-License-Identifier: GPL-2.0
// `probeload run --bench`: the workload without the tool, with it, and with it by djprobe.
#pragma once

#include "run/options.h"

namespace djprobe::loader {

/// Prints the comparison. Throws Error where the tool or the workload cannot be run, where the
/// module is missing, where the tool ends before the workload, and when it is interrupted.
int bench_tool(const RunOptions& options);

}  // namespace djprobe::loader
