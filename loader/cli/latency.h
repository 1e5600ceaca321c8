// SPDX-License-Identifier: GPL-2.0
// probeload latency: how long from one place to another?
#pragma once

#include "cli/app.h"

namespace djprobe::loader {

Command add_latency(CLI::App& app);

}  // namespace djprobe::loader
