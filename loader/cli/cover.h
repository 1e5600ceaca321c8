// SPDX-License-Identifier: GPL-2.0
// probeload cover: what has run?
#pragma once

#include "cli/app.h"

namespace djprobe::loader {

Command add_cover(CLI::App& app);

}  // namespace djprobe::loader
