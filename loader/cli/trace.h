// SPDX-License-Identifier: GPL-2.0
// The `trace` subcommand.
#pragma once

#include "cli/app.h"

namespace djprobe::loader {

Command add_trace(CLI::App& app);

}  // namespace djprobe::loader
