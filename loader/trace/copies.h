// SPDX-License-Identifier: GPL-2.0
// Where an inlined function begins, when the compiler has copied it.
#pragma once

#include <functional>
#include <vector>

#include "debuginfo/statements.h"
#include "trace/find_sites.h"

namespace djprobe::loader {

/// The debug information names one place at which an instance begins, be it on a way that is hardly
/// ever gone: `begin`. Of the others, see copies_of(), those are begins to which control comes
/// instead. They are known in the running kernel only.
std::vector<StatementSite> begins_of(const StatementSite& begin, std::vector<StatementSite> copies,
                                     const std::function<SiteSpec(const SymbolPlace&)>& site_of,
                                     const SiteFlow& flow);

}  // namespace djprobe::loader
