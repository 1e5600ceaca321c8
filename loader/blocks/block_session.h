// SPDX-License-Identifier: GPL-2.0
// `probeload count --blocks`: each block of some functions, beside its instructions.
#pragma once

#include "count/count_session.h"

namespace djprobe::loader {

struct BlockOptions : CountOptions {
    bool check = false;  ///< count each block, so that the counts show whether they balance
};

/// Returns the exit status. Throws Error.
int run_count_blocks(const BlockOptions& options);

}  // namespace djprobe::loader
