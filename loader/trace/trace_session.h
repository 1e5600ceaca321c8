// SPDX-License-Identifier: GPL-2.0
// `probeload trace`: a question becomes a program, which runs as `probeload attach` runs it.
#pragma once

#include "session/numbers_watch.h"
#include "trace/trace_options.h"

namespace djprobe::loader {

/// Returns the exit status. Throws Error. `numbers`: takes them, too, and histograms.
int run_trace(const TraceOptions& options, const Numbers& numbers = {});

}  // namespace djprobe::loader
