// SPDX-License-Identifier: GPL-2.0
// probeload run: a tool, unchanged, with its kprobes placed by djprobe.
#pragma once

#include <string>
#include <vector>

#include "cli/app.h"

namespace djprobe::loader {

/// `tool`: the words behind --, which CLI11 must not see: it would make two of "[a,b]".
Command add_run(CLI::App& app, std::vector<std::string> tool);

}  // namespace djprobe::loader
