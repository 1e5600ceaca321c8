// SPDX-License-Identifier: GPL-2.0
// probeload lines: which instructions begin the lines of a function?
#pragma once

#include "cli/app.h"

namespace djprobe::loader {

Command add_lines(CLI::App& app);

}  // namespace djprobe::loader
