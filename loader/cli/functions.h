// SPDX-License-Identifier: GPL-2.0
// probeload functions: which functions the running kernel has, and their prototypes.
#pragma once

#include "cli/app.h"

namespace djprobe::loader {

Command add_functions(CLI::App& app);

}  // namespace djprobe::loader
