// SPDX-License-Identifier: GPL-2.0
// probeload count: how often is what called?
#pragma once

#include "cli/app.h"

namespace djprobe::loader {

Command add_count(CLI::App& app);

}  // namespace djprobe::loader
