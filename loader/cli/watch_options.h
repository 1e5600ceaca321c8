// SPDX-License-Identifier: GPL-2.0
// How long counters count.
#pragma once

#include "count/watch.h"

namespace CLI {
class App;
}

namespace djprobe::loader {

/// --duration, --command and --exit-status.
void add_watch_options(CLI::App& command, WatchOptions& options);

}  // namespace djprobe::loader
