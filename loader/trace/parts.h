// SPDX-License-Identifier: GPL-2.0
// Parts of a line that are no events of their own.
#pragma once

#include <functional>
#include <vector>

#include "debuginfo/statements.h"
#include "trace/find_sites.h"

namespace djprobe::loader {

/// The compiler may part a statement, and move a part out of the function that it has inlined.
/// Places that always run together are one event: one of them is left, in the function itself where
/// it has any. A copy runs without the others. `sites`: of one line.
std::vector<StatementSite> without_parts(const DwarfFile& debug, std::vector<StatementSite> sites,
                                         const std::function<SiteSpec(const SymbolPlace&)>& site_of,
                                         const SiteFlow& flow);

}  // namespace djprobe::loader
