// SPDX-License-Identifier: GPL-2.0
// The words of --mode, --ret-mode and --backend.
#pragma once

#include <string_view>

#include "djprobe.h"
#include "kernel/return_mode.h"
#include "session/options.h"

namespace CLI {
class App;
}

namespace djprobe::loader {

/// Each throws Error(kUsage) for another word.
djprobe_mode parse_mode(std::string_view text);
ReturnMode parse_return_mode(std::string_view text);
Backend parse_backend(std::string_view text);

void add_backend(CLI::App& command, Backend& backend);

}  // namespace djprobe::loader
