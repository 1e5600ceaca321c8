// SPDX-License-Identifier: GPL-2.0
// `probeload count --blocks` and `--lines`: each block or line of some functions.
#pragma once

#include <optional>
#include <string>

#include "count/count_session.h"

namespace djprobe::loader {

struct BlockOptions : CountOptions {
    bool lines = false;  ///< lines of the source instead of instructions
    bool check = false;  ///< count each block, so that the counts show whether they balance
    std::optional<std::string> debuginfo;  ///< a folder, or the file itself
    std::optional<std::string> source;     ///< a folder
};

/// Returns the exit status. Throws Error.
int run_count_blocks(const BlockOptions& options);

}  // namespace djprobe::loader
