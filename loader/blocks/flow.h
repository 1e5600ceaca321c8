// SPDX-License-Identifier: GPL-2.0
// How often blocks and the ways between them have run: what is counted, and what follows from it.
//
// Where control goes from block to block, what goes in comes out. Blocks that share a successor,
// and blocks that share a predecessor, meet at a junction: as many blocks end there as begin (Knuth
// and Stevenson, "Optimal measurement of points for program frequency counts", BIT 13, 1973). So
// each block is an edge from one junction to another. Blocks that close a cycle in that graph must
// be counted; the rest is a tree, whose counts follow. Junction 0 is all that lies outside, where
// nothing needs to balance.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "blocks/flow_graph.h"

namespace djprobe::loader {

/// None: not known.
using Count = std::optional<std::uint64_t>;

class Flow {
  public:
    explicit Flow(const std::vector<Block>& blocks);

    /// A smallest set of blocks from whose counts all others follow. Those with the highest costs
    /// are left out where there is a choice.
    [[nodiscard]] std::vector<bool> choose(const std::vector<unsigned>& costs) const;

    /// Fills in the counts that follow from others. What would be below zero stays unknown.
    void solve(std::vector<Count>& counts) const;

    /// The blocks around junctions at which the counts do not balance. Calls that were under way at
    /// the first or last look are the reason, or a mistake.
    [[nodiscard]] std::vector<std::size_t> unbalanced(const std::vector<Count>& counts) const;

    /// A mark for each block: those of the same mark run equally often, whatever runs. 0: it never
    /// runs. That others have the same by chance is as likely as two equal random numbers of 64
    /// bits.
    [[nodiscard]] std::vector<std::uint64_t> marks() const;

  private:
    struct Ends {
        std::size_t from, to;
    };
    struct Sums;
    /// What would be below zero.
    enum class Below { kUnknown, kWraps };
    void solve(std::vector<Count>& counts, Below below) const;
    [[nodiscard]] std::vector<Sums> sum(const std::vector<Count>& counts) const;

    std::vector<Ends> ends_;  // of each block
    std::size_t junctions_ = 0;
};

/// For each block and each of its successors how often control went that way, as far as the blocks'
/// counts tell.
std::vector<std::vector<Count>> solve_edges(const std::vector<Block>& blocks,
                                            const std::vector<Count>& counts);

/// What the hit of a block's counter is expected to cost, as it may lie in loops: 1, 8, 64, 512.
std::vector<unsigned> loop_weights(const std::vector<Block>& blocks);

}  // namespace djprobe::loader
