// SPDX-License-Identifier: GPL-2.0
#include "cli/source_options.h"

#include <CLI/CLI.hpp>

#include "cli/checks.h"

namespace djprobe::loader {

void add_source_options(CLI::App& command, std::optional<std::string>& debuginfo,
                        std::optional<std::string>& source) {
    command
        .add_option("--debuginfo", debuginfo,
                    "Where the debug information is: a folder, or the file itself (default "
                    "/usr/lib/debug, then DEBUGINFOD_URLS)")
        ->type_name("DIR")
        ->check(not_empty);
    command.add_option("--source", source, "The folder of the source, to show its text")
        ->type_name("DIR")
        ->check(not_empty);
}

}  // namespace djprobe::loader
