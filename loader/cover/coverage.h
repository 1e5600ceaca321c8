// SPDX-License-Identifier: GPL-2.0
// What has run of some functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "blocks/block_counters.h"
#include "blocks/line_counts.h"

namespace djprobe::loader {

/// How many of them have run, and of how many that is not known.
struct Share {
    std::size_t all = 0, ran = 0, unknown = 0;

    void add(std::uint64_t least, bool known);
    void add(const Share& other);
};

struct FunctionCoverage {
    const FunctionFlow* flow;
    BlockCounts counts;
    const FunctionLines* source;  ///< none: lines are not wanted
    LineCounts lines;
    Share blocks, source_lines;
};

/// One for each function; `lines` is empty where lines are not wanted.
std::vector<FunctionCoverage> cover(const std::vector<FunctionFlow>& flows,
                                    std::vector<BlockCounts> counts,
                                    const std::vector<FunctionLines>& lines);

/// A table: a line for each function, what ran least first, and one for all.
std::string coverage_table(const std::vector<FunctionCoverage>& functions);
/// A line of NDJSON for each function, and one for all of them: a "summary", or so far a
/// "snapshot".
std::string coverage_json(const std::vector<FunctionCoverage>& functions, const char* type);
/// The addresses of the blocks that ran, one a line, as syzkaller takes them.
std::string coverage_pcs(const std::vector<FunctionCoverage>& functions);

}  // namespace djprobe::loader
