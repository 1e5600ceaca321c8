// SPDX-License-Identifier: GPL-2.0
// Functions that a macro writes whole on one line.
#pragma once

#include <vector>

#include "debuginfo/statements.h"

namespace djprobe::loader {

/// TRACE_EVENT() writes whole functions on one line: all that they do begins there. A call of such
/// a function is one event of the line, at its entry. What it calls that is written on the same
/// line, and inlined there, belongs to it. `sites`: of one line.
std::vector<StatementSite> with_whole_functions_once(const DwarfFile& debug,
                                                     std::vector<StatementSite> sites);

}  // namespace djprobe::loader
