// SPDX-License-Identifier: GPL-2.0
#include "cli/task_options.h"

#include <CLI/CLI.hpp>

#include "cli/checks.h"
#include "cli/number_option.h"

namespace djprobe::loader {
void add_task_filter(CLI::App& command, TaskFilter& filter) {
    add_number(command, "-p,--pid", filter.pid, "Only hits of this process", 0, kMostTasks);
    add_number(command, "--tid", filter.tid, "Only hits of this thread", 0, kMostTasks);
    command
        .add_option("--comm", filter.comm,
                    "Only hits of threads of this name, up to 15 letters, no pattern")
        ->type_name("NAME")
        ->check(not_empty);
}

}  // namespace djprobe::loader
