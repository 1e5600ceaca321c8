// SPDX-License-Identifier: GPL-2.0
// Where a function was inlined.
#pragma once

#include <string>
#include <vector>

#include "debuginfo/statement_rows.h"
#include "debuginfo/statements.h"

namespace djprobe::loader {

struct InlinedFunction {
    /// Where each of them begins; file and line are those of the call.
    std::vector<StatementSite> instances;
    std::vector<std::string> others;  ///< names of other ones, where there is none of this name
};

/// All of a kernel's are found once for each build, and then kept in the user's cache.
InlinedFunction inlined_function(const DwarfFile& debug, const std::string& name);

/// The instances of `name` that were inlined into a function, or into another instance.
std::vector<std::uint64_t> instances_in(const DwarfFile& debug, std::uint64_t function,
                                        const std::string& name);

/// Where an instance may begin as well: a statement that begins at `begin`, its first instruction,
/// begins there, too. The compiler has copied it, or parted it.
std::vector<StatementSite> copies_of(const DwarfFile& debug, FunctionRows& rows,
                                     const StatementSite& begin);

}  // namespace djprobe::loader
