// SPDX-License-Identifier: GPL-2.0
// The options of `probeload run`.
#pragma once

#include <string>
#include <vector>

#include "djprobe.h"
#include "kernel/return_mode.h"

namespace djprobe::loader {

struct RunOptions {
    std::vector<std::string> tool;  ///< the command with its arguments
    djprobe_mode mode = DJPROBE_MODE_AUTO;
    ReturnMode return_mode = ReturnMode::kAuto;
    bool strict = false;  ///< what djprobe does not take is an error
    bool json = false;
    bool to_kernel = false;  ///< djprobe takes nothing; for a comparison
    bool bench = false;      ///< compare the cost on a workload
    std::string workload{};  ///< a command for the shell; "": system calls
};

}  // namespace djprobe::loader
