// SPDX-License-Identifier: GPL-2.0
// `--metrics` and `--metrics-file`, of all verbs that have them.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "session/numbers_watch.h"

namespace djprobe::loader {

struct MetricsOptions {
    std::optional<std::string> address;  ///< "IP:PORT" that serves them
    std::optional<std::filesystem::path> file;
};

/// `what`: the numbers, as in "Serve hits to Prometheus".
void add_metrics_options(CLI::App& command, MetricsOptions& options, const std::string& what);

/// Runs a session with what takes its numbers, or with nothing that does. Returns its exit status.
int run_with_metrics(const MetricsOptions& options,
                     const std::function<int(const Numbers& numbers)>& run);

}  // namespace djprobe::loader
