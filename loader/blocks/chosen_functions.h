// SPDX-License-Identifier: GPL-2.0
// The functions that a user names, with their blocks.
#pragma once

#include <string>
#include <vector>

#include "blocks/function_flow.h"
#include "djprobe.h"
#include "kernel/site_spec.h"
#include "kernel/symbolizer.h"
#include "session/report.h"

namespace djprobe::loader {

struct ChosenFunctions {
    KernelImage image;  ///< into which the flows view
    std::vector<FunctionFlow> flows{};
    ReasonCounts left_out{};  ///< functions like a pattern that have no blocks to count
};

/// Of the running kernel. Throws Error: a site is no function, or one that is named has no blocks,
/// and why; no function is like a pattern, or none of those has any; a stop is requested.
ChosenFunctions choose_functions(const std::vector<SiteSpec>& sites, Symbolizer& symbolizer,
                                 const StopSignals& stop);

/// "counting 92 blocks of 1 function, by jump; 2 functions left out: blacklisted 2".
std::string attached_blocks_line(const ChosenFunctions& chosen, const djprobe_total& total);

}  // namespace djprobe::loader
