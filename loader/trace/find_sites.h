// SPDX-License-Identifier: GPL-2.0
// From a line of the source, or an instruction, to the sites of a trace.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "debuginfo/dwarf_file.h"
#include "trace/question.h"

namespace djprobe::loader {

/// Why a site cannot be probed; none: it can.
using Judge = std::function<std::optional<std::string>(const SiteSpec&)>;

/// Fills the question's sites: of its line, each copy of the first statement that begins there in
/// each inlined instance and is accepted; or the instruction itself. `left_out` gets the others, a
/// line each. Throws Error(kNoSuchSite) where none is left.
void find_sites(const DwarfFile& debug, const Judge& judge, Question& question,
                std::vector<std::string>& left_out);

}  // namespace djprobe::loader
