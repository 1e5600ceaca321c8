// SPDX-License-Identifier: GPL-2.0
// The blocks of a function beside its instructions, with how often each ran.
#pragma once

#include <string>

#include "blocks/block_counters.h"
#include "kernel/symbolizer.h"

namespace djprobe::loader {

/// A head, then each instruction; a block's count stands before its first one, "?" where it is not
/// known, with a bar that shows which blocks are hot.
std::string block_listing(const FunctionFlow& function, const BlockCounts& counts,
                          Symbolizer& symbolizer);

/// No block of it has run, and that is known of each.
bool has_not_run(const BlockCounts& counts);
/// How many blocks have run, were counted, follow from others, are not known.
std::string block_summary(const FunctionFlow& function, const BlockCounts& counts,
                          const std::vector<bool>& counted);
/// One line of NDJSON: all of the above.
std::string block_json(const FunctionFlow& function, const BlockCounts& counts,
                       const std::vector<bool>& counted);

}  // namespace djprobe::loader
