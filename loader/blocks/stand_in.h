// SPDX-License-Identifier: GPL-2.0
// Where probes can be when an instruction takes none, or no jump: at others that run exactly as
// often.
#pragma once

#include <cstdint>
#include <vector>

#include "../../arch/x86/insn/effects.h"
#include "blocks/flow_graph.h"
#include "survey/text_map.h"

namespace djprobe::loader {

struct StandIn {
    std::uint64_t address;
    /// What the instructions between it and the one that is meant change, whichever comes first.
    x86::RegisterSet writes = 0;
    bool writes_memory = false;
    bool by_jump = false;
};

/// Of one text. It keeps what it has found out about the function that was asked about last.
class StandIns {
  public:
    /// The map must outlive it.
    explicit StandIns(const TextMap& map) : map_(map) {}

    /// Each time that control comes to `site` it comes to exactly one of them, and to none of them
    /// otherwise: behind what changes nothing (an endbr64, ftrace's call, a jump label); before the
    /// instruction, where all that lies between goes straight on; or where all ways from it meet
    /// again. What it calls must return for that. Those by a jump come first. Empty: there are
    /// none.
    [[nodiscard]] std::vector<StandIn> find(std::size_t function, std::uint64_t site);

    /// Does control come to `site` as often as to all of `others` together? All are the function's.
    /// False: it is not known.
    [[nodiscard]] bool runs_as_often(std::size_t function, std::uint64_t site,
                                     const std::vector<std::uint64_t>& others);

    /// Does control come to `site` only by way of another instruction, once for each? That may run
    /// more often. Both are the function's. False: it is not known.
    [[nodiscard]] bool comes_by(std::size_t function, std::uint64_t site, std::uint64_t other);
    /// Does it go from `site` to the other one in any case, as far as what is called returns, once
    /// for each? Likewise.
    [[nodiscard]] bool leads_to(std::size_t function, std::uint64_t site, std::uint64_t other);

    /// Is there a place by way of which control comes to the one or to the other, but not to both
    /// before it is there again? False: it is not known.
    [[nodiscard]] bool runs_instead_of(std::size_t function, std::uint64_t site,
                                       std::uint64_t other);

    /// Where control goes in a function.
    struct Graph {
        FlowFacts facts;
        std::vector<Block> blocks;  ///< none where it is not known
        std::vector<std::uint64_t> marks;
    };

  private:
    const Graph& graph_of(std::size_t function);

    const TextMap& map_;
    std::size_t known_ = SIZE_MAX;  // the function of graph_
    Graph graph_;
};

}  // namespace djprobe::loader
