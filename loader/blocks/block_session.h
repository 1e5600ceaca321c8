// SPDX-License-Identifier: GPL-2.0
// `probeload count --blocks` and `--lines`: each block or line of some functions.
#pragma once

#include "blocks/block_options.h"

namespace djprobe::loader {

/// Returns the exit status. Throws Error.
int run_count_blocks(const BlockOptions& options);

}  // namespace djprobe::loader
