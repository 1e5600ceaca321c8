// SPDX-License-Identifier: GPL-2.0
// probeload bench: its options.
#pragma once

#include "cli/app.h"

namespace djprobe::loader {

Command add_bench(CLI::App& app);

}  // namespace djprobe::loader
