// SPDX-License-Identifier: GPL-2.0
// probeload doctor: what keeps probeload from working here, and what mends it.
#pragma once

#include "cli/app.h"

namespace djprobe::loader {

Command add_doctor(CLI::App& app);

}  // namespace djprobe::loader
