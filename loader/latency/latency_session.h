// SPDX-License-Identifier: GPL-2.0
// `probeload latency`: two programs in, a histogram while they measure, a summary.
#pragma once

#include "latency/latency_options.h"
#include "session/numbers_watch.h"

namespace djprobe::loader {

/// Returns the exit status. Throws Error. `numbers`: takes them, too.
int run_latency(const LatencyOptions& options, const Numbers& numbers = {});

}  // namespace djprobe::loader
