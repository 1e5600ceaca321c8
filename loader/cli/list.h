// SPDX-License-Identifier: GPL-2.0
// probeload list: which probes there are, and whose.
#pragma once

#include "cli/app.h"

namespace djprobe::loader {

Command add_list(CLI::App& app);

}  // namespace djprobe::loader
