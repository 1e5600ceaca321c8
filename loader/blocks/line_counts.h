// SPDX-License-Identifier: GPL-2.0
// How often lines of the source have run, from how often blocks have.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "blocks/block_counters.h"
#include "debuginfo/source_lines.h"

namespace djprobe::loader {

/// How often a line has run: as often as that statement of it that ran most. The copies of a
/// statement, in functions that were inlined and in loops that the compiler has unrolled, add up.
struct LineCount {
    std::uint64_t least = 0;  ///< it has run so often, or more
    bool whole = true;        ///< exactly so often: no block of it has an unknown count
};

/// By file, as the debug information names it, and line.
using LineCounts = std::map<std::string, std::map<unsigned, LineCount>>;

/// The lines of a function, those of what was inlined into it included.
class FunctionLines {
  public:
    FunctionLines(const FunctionFlow& function, const SourceLines& source);

    /// Where the function itself begins; empty and 0 where nothing is known.
    [[nodiscard]] const std::string& file() const noexcept { return file_; }
    [[nodiscard]] unsigned line() const noexcept { return line_; }
    [[nodiscard]] LineCounts count(const std::vector<Count>& counts) const;
    /// Of its instructions, how many have a line, and how many there are.
    [[nodiscard]] std::size_t known() const noexcept { return known_; }
    [[nodiscard]] std::size_t insns() const noexcept { return insns_; }

  private:
    void add(std::size_t block, std::uint64_t insn, const SourceLines& source);

    using Blocks = std::vector<std::size_t>;
    std::map<Statement, Blocks> begun_;  // in which blocks a copy of each statement begins
    std::map<std::pair<std::string, unsigned>, Blocks> touched_;  // which have some of each line
    std::string file_;
    unsigned line_ = 0;
    std::size_t known_ = 0, insns_ = 0;
};

/// Those of some functions of the image, one after the other. Throws Error(kBadFile): no debug
/// information, or none of one of the functions.
std::vector<FunctionLines> read_lines(const std::vector<FunctionFlow>& functions,
                                      const std::optional<std::string>& debuginfo,
                                      const KernelImage& image, const StopSignals& stop);

/// Adds counts of the same lines from another function.
void add_lines(LineCounts& sum, const LineCounts& more);

}  // namespace djprobe::loader
