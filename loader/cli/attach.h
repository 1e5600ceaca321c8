// SPDX-License-Identifier: GPL-2.0
// probeload attach: run a program at one or more sites until told to stop.
#pragma once

#include "cli/app.h"

namespace djprobe::loader {

Command add_attach(CLI::App& app);

}  // namespace djprobe::loader
