// SPDX-License-Identifier: GPL-2.0
#include "cli/watch_options.h"

#include <CLI/CLI.hpp>

#include "cli/checks.h"

namespace djprobe::loader {

void add_watch_options(CLI::App& command, WatchOptions& options) {
    command.add_option("-d,--duration", options.seconds, "Stop after so many seconds")
        ->type_name("SECONDS")
        ->check(positive);
    auto* const run = command.add_option("-c,--command", options.command,
                                         "Run by /bin/sh once all is counted; stop at its end");
    run->type_name("COMMAND")->check(not_empty);
    command.add_flag("--exit-status", options.exit_status, "End with COMMAND's exit status")
        ->needs(run);
}

}  // namespace djprobe::loader
