// SPDX-License-Identifier: GPL-2.0
#include "cli/watch_options.h"

#include <CLI/CLI.hpp>

#include "cli/checks.h"

namespace djprobe::loader {

void add_watch_options(CLI::App& command, WatchOptions& options) {
    command.add_option("-d,--duration", options.seconds, "Stop after so many seconds")
        ->type_name("SECONDS")
        ->check(positive);
    command
        .add_option("-c,--command", options.command,
                    "Run by /bin/sh once all is counted; stop at its end")
        ->type_name("COMMAND")
        ->check(not_empty);
}

}  // namespace djprobe::loader
