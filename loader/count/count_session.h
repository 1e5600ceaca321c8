// SPDX-License-Identifier: GPL-2.0
// `probeload count`: counters in, a table while they count, a summary.
#pragma once

#include "count/count_options.h"
#include "session/numbers_watch.h"

namespace djprobe::loader {

/// Returns the exit status. Throws Error. `numbers`: takes them, too.
int run_count(const CountOptions& options, const Numbers& numbers = {});

}  // namespace djprobe::loader
