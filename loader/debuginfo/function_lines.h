// SPDX-License-Identifier: GPL-2.0
// The lines of a function, each with the instructions at which it begins.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "debuginfo/source_text.h"
#include "debuginfo/statements.h"

namespace djprobe::loader {

/// How a probe would be put there: "jump", "int3", "refused", or "" where that is not known.
using HowProbed = std::function<std::string(const SymbolPlace&)>;

struct LineSites {
    struct Site {
        SymbolPlace place;
        std::string how;
    };
    std::string file;
    unsigned line;
    /// The function that the line is of, then those that it was inlined into.
    std::vector<std::string> functions;
    std::vector<Site> sites;
};

/// In the order of the first instructions; a line that was inlined twice is there twice.
std::vector<LineSites> lines_of(const std::vector<StatementSite>& statements,
                                const HowProbed& how_probed);
/// A line of text for each, with the source where it is found.
std::string lines_text(const std::string& function, const std::vector<LineSites>& lines,
                       SourceText& source);
/// A line of NDJSON for each.
std::string lines_json(const std::string& function, const std::vector<LineSites>& lines);

}  // namespace djprobe::loader
