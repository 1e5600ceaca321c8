// SPDX-License-Identifier: GPL-2.0
// probeload explain: why a site gets a jump, an int3, or nothing.
#pragma once

#include "cli/app.h"

namespace djprobe::loader {

Command add_explain(CLI::App& app);

}  // namespace djprobe::loader
