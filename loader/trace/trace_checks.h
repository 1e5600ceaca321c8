// SPDX-License-Identifier: GPL-2.0
// Which options of `probeload trace` go together, and which values can be.
#pragma once

#include "trace/trace_options.h"

namespace djprobe::loader {

/// Throws Error, mostly kUsage: what is of no use beside another option is an error, and not
/// ignored. Looks whether the CPU, the tasks and the module are there, unless the program runs
/// elsewhere.
void check_trace(const TraceOptions& options);

/// Throws Error(kUsage) for a question that has no numbers for Prometheus: before a port is opened.
void check_trace_metrics(const TraceOptions& options);

}  // namespace djprobe::loader
