// SPDX-License-Identifier: GPL-2.0
// `probeload cover`: which blocks and lines of some functions run.
#pragma once

#include "cover/cover_options.h"

namespace djprobe::loader {

/// Returns the exit status. Throws Error.
int run_cover(const CoverOptions& options);

}  // namespace djprobe::loader
