// SPDX-License-Identifier: GPL-2.0
// How long counters count.
#pragma once

#include "count/watch.h"

namespace CLI {
class App;
}

namespace djprobe::loader {

/// --duration and --command.
void add_watch_options(CLI::App& command, WatchOptions& options);

}  // namespace djprobe::loader
