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
    std::vector<FunctionFlow> flows;
    ReasonCounts left_out;  ///< functions like a pattern that have no blocks to count
};

/// What a user has named, and which functions that is.
struct NamedFunctions {
    SiteSpec site;
    std::vector<Symbol> functions;
};

/// Throws Error: a site is a place within a function, or there is no function of such a name.
std::vector<NamedFunctions> find_functions(const std::vector<SiteSpec>& sites,
                                           const Kallsyms& kallsyms, Symbolizer& symbolizer);

/// Throws Error: a function that is named has no blocks, and why; none like a pattern has any.
ChosenFunctions choose_functions(const std::vector<NamedFunctions>& named, KernelImage& image,
                                 Symbolizer& symbolizer);

/// "counting 92 blocks of 1 function, by jump; 2 functions left out: blacklisted 2".
std::string attached_blocks_line(const ChosenFunctions& chosen, const djprobe_total& total);

}  // namespace djprobe::loader
