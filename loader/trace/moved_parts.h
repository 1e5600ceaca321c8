// SPDX-License-Identifier: GPL-2.0
// Parts of a line that the compiler has moved out of a function that it inlined.
#pragma once

#include <functional>
#include <vector>

#include "debuginfo/statements.h"
#include "trace/find_sites.h"

namespace djprobe::loader {

/// Such a part runs in front of the function's code or behind it, and the two are one event: only
/// one is left. A copy runs without the others. `sites`: of one line.
std::vector<StatementSite> without_moved_parts(
    const DwarfFile& debug, std::vector<StatementSite> sites,
    const std::function<SiteSpec(const SymbolPlace&)>& site_of, const SiteFlow& flow);

}  // namespace djprobe::loader
