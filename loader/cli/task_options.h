// SPDX-License-Identifier: GPL-2.0
// Which tasks' hits count.
#pragma once

#include "kernel/task_filter.h"

namespace CLI {
class App;
}

namespace djprobe::loader {

/// --pid, --tid and --comm.
void add_task_filter(CLI::App& command, TaskFilter& filter);

}  // namespace djprobe::loader
