// SPDX-License-Identifier: GPL-2.0
// Where the debug information and the source of the kernel are.
#pragma once

#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace djprobe::loader {

/// --debuginfo and --source.
void add_source_options(CLI::App& command, std::optional<std::string>& debuginfo,
                        std::optional<std::string>& source);

}  // namespace djprobe::loader
