// SPDX-License-Identifier: GPL-2.0
// Of which functions it is to be told what runs, and how.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "count/watch.h"
#include "djprobe.h"
#include "kernel/site_spec.h"
#include "kernel/task_filter.h"

namespace djprobe::loader {

struct CoverOptions : WatchOptions {
    std::vector<SiteSpec> sites;
    djprobe_mode mode = DJPROBE_MODE_AUTO;
    TaskFilter tasks;
    bool lines = false;     ///< of the source, too: needs debug information
    bool annotate = false;  ///< each block or line before the summary
    bool once = false;      ///< a counter leaves once its block has run
    std::optional<std::string> debuginfo, source;
    std::optional<std::string> lcov, pcs;  ///< files to write
};

}  // namespace djprobe::loader
