// SPDX-License-Identifier: GPL-2.0
// What is to be counted.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "count/watch.h"
#include "djprobe.h"
#include "kernel/site_spec.h"
#include "kernel/task_filter.h"
#include "session/options.h"

namespace djprobe::loader {

struct CountOptions : WatchOptions {
    std::vector<SiteSpec> sites;
    djprobe_mode mode = DJPROBE_MODE_AUTO;
    std::size_t top = 20;
    TaskFilter tasks;
    std::optional<std::string> conditions;  ///< which hits count; see parse_conditions()
    /// Of which operand a histogram is wanted, in place of counts. There is one site then.
    std::optional<std::string> histogram_of;
    /// The kernel's own probes can count, and have neither conditions nor histograms.
    Backend backend = Backend::kDjprobe;
};

}  // namespace djprobe::loader
