// SPDX-License-Identifier: GPL-2.0
// The basic blocks of functions of the running kernel and its modules, from their live text.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "blocks/flow_graph.h"
#include "kernel/kallsyms.h"
#include "survey/analysis.h"

namespace djprobe::loader {

/// Where a block can be counted.
struct CountPlace {
    std::uint64_t address;
    bool jump;  ///< else by int3
};

struct FunctionFlow {
    std::string name;         ///< as the command line takes it
    std::string module;       ///< "" for the kernel itself
    std::vector<Code> parts;  ///< its body, then NAME.cold: views into the image
    std::vector<Block> blocks;
    std::vector<std::optional<CountPlace>> places;  ///< of each block, if it can be counted
    Refusal refused;                                ///< instead of blocks: why it has none

    [[nodiscard]] std::uint64_t address() const { return parts.front().address; }
    /// "+0x2b", or ".cold+0x2b" in a part that lies elsewhere.
    [[nodiscard]] std::string offset(std::uint64_t at) const;
};

/// Reads the text of some functions of the image, which must outlive the flows. Throws Error once
/// a stop is requested: of a whole kernel it takes long.
std::vector<FunctionFlow> read_flows(KernelImage& image, const std::vector<Symbol>& functions,
                                     const StopSignals& stop);

}  // namespace djprobe::loader
