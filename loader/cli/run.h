// SPDX-License-Identifier: GPL-2.0
// probeload run: a tool, unchanged, with its kprobes placed by djprobe.
#pragma once

#include "cli/app.h"

namespace djprobe::loader {

Command add_run(CLI::App& app);

}  // namespace djprobe::loader
