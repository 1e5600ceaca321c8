// SPDX-License-Identifier: GPL-2.0
// Lines of the source with how often each has run.
#pragma once

#include <string>

#include "blocks/line_counts.h"
#include "debuginfo/source_text.h"

namespace djprobe::loader {

/// A head, then each line of a function: its own file first. With its text where that is found; "?"
/// where the count is not known.
std::string line_listing(const std::string& function, const FunctionLines& lines,
                         const LineCounts& counts, SourceText& source);
/// One line of NDJSON.
std::string line_json(const std::string& function, const FunctionLines& lines,
                      const LineCounts& counts);

}  // namespace djprobe::loader
