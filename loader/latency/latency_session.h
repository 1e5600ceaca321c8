// SPDX-License-Identifier: GPL-2.0
// `probeload latency`: two programs in, a histogram while they measure, a summary.
#pragma once

#include <optional>

#include "count/watch.h"
#include "djprobe.h"
#include "kernel/place.h"
#include "kernel/return_mode.h"
#include "latency/table.h"
#include "session/options.h"

namespace djprobe::loader {

struct LatencyOptions : WatchOptions {
    Place from, to;
    LatencyStyle style;
    djprobe_mode mode = DJPROBE_MODE_AUTO;
    std::optional<ReturnMode> return_mode;
    Backend backend = Backend::kAuto;
};

/// Returns the exit status. Throws Error. `numbers`: takes them, too.
int run_latency(const LatencyOptions& options, const Numbers& numbers = {});

}  // namespace djprobe::loader
