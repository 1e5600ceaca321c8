// SPDX-License-Identifier: GPL-2.0
// probeload hist: which values does an argument have?
#pragma once

#include "cli/app.h"

namespace djprobe::loader {

Command add_hist(CLI::App& app);

}  // namespace djprobe::loader
