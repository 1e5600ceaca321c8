// SPDX-License-Identifier: GPL-2.0
// Which blocks or lines are to be counted.
#pragma once

#include <optional>
#include <string>

#include "count/count_options.h"

namespace djprobe::loader {

struct BlockOptions : CountOptions {
    bool lines = false;  ///< lines of the source instead of instructions
    bool check = false;  ///< count each block, so that the counts show whether they balance
    std::optional<std::string> debuginfo;  ///< a folder, or the file itself
    std::optional<std::string> source;     ///< a folder
};

}  // namespace djprobe::loader
