// SPDX-License-Identifier: GPL-2.0
// probeload survey: what a kernel's sites are worth.
#pragma once

#include "cli/app.h"

namespace djprobe::loader {

Command add_survey(CLI::App& app);

}  // namespace djprobe::loader
