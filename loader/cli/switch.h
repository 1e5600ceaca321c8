// SPDX-License-Identifier: GPL-2.0
// probeload off and on: take all probes out of the text, and put them back.
#pragma once

#include "cli/app.h"

namespace djprobe::loader {

Command add_off(CLI::App& app);
Command add_on(CLI::App& app);

}  // namespace djprobe::loader
