// SPDX-License-Identifier: GPL-2.0
// probeload count: how often is what called?
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "cli/app.h"
#include "count/count_session.h"

namespace djprobe::loader {

Command add_count(CLI::App& app);

/// The options that `count` and `hist` share: what may count, how long, how often it is shown.
void add_counting_options(CLI::App& command, CountOptions& options);
/// What both run, and how it may end.
Command counting_command(CLI::App* command, std::function<int()> run);

}  // namespace djprobe::loader
