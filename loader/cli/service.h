// SPDX-License-Identifier: GPL-2.0
// `probeload start`, `stop`, `status` and `logs`: probes that stay, as services of systemd.
#pragma once

#include <string>
#include <vector>

#include "cli/app.h"

namespace djprobe::loader {

/// `words`: what stands behind NAME on the command line.
Command add_start(CLI::App& app, std::vector<std::string> words);
Command add_stop(CLI::App& app);
Command add_status(CLI::App& app);
Command add_logs(CLI::App& app);

}  // namespace djprobe::loader
