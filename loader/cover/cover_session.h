// SPDX-License-Identifier: GPL-2.0
// `probeload cover`: which blocks and lines of some functions run.
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

/// Returns the exit status. Throws Error.
int run_cover(const CoverOptions& options);

}  // namespace djprobe::loader
