// SPDX-License-Identifier: GPL-2.0
// Random operations, some of them within others.
#pragma once

#include "session.h"

namespace djprobe::model {

/// One walk of `steps` operations, and its end. Everything follows from the seed. Returns how many
/// operations there were, with those within others.
size_t random_walk(u64 seed, size_t steps);

}  // namespace djprobe::model
