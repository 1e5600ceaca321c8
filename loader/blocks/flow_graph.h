// SPDX-License-Identifier: GPL-2.0
// The basic blocks of a function, and where control goes from each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "../../arch/x86/analysis/snapshot.h"
#include "../../arch/x86/insn/decode.h"

namespace djprobe::loader {

/// Instructions that run one behind the other. A fault may end it anywhere, but only where the
/// exception table says so does the function go on: such an instruction is a block's last one.
struct Block {
    Range range{};
    std::vector<std::size_t> next{};  ///< the blocks that control may go to, each once
    bool arrives = false;             ///< control may come from elsewhere, a call for instance
    bool leaves = false;              ///< control may go elsewhere, by a return for instance
};

/// A function, and what its bytes do not show.
struct FlowFacts {
    std::vector<Code> parts;               ///< without padding: its body, then NAME.cold
    std::vector<std::uint64_t> faults;     ///< instructions with an exception-table entry
    std::vector<std::uint64_t> returning;  ///< calls of which it is known that they return
    std::vector<x86::Landing> landings;    ///< into the parts, from wherever
    bool jumps_anywhere = false;           ///< an indirect jump may lead to any instruction
};

/// The blocks that control can reach, part by part, by address. `refused`: an instruction cannot be
/// decoded (UNSCANNABLE), or is an int3 of other probes (FOREIGN_PATCH).
std::vector<Block> find_blocks(const FlowFacts& facts, Refusal& refused);

/// The block that holds an address, or blocks.size().
std::size_t find_block(const std::vector<Block>& blocks, std::uint64_t address);

/// Decodes the instructions of a block, one after the other, until visit(insn) returns false.
template <typename Visit>
void for_each_insn_of(const Block& block, const std::vector<Code>& parts, Visit visit) {
    const auto part = std::ranges::find_if(
        parts, [&](const Code& code) { return code.range().contains(block.range.begin); });
    if (part == parts.end()) return;
    x86::Insn insn;
    for (std::uint64_t at = block.range.begin; at < block.range.end; at = insn.end())
        if (!x86::decode(part->from(at), at, insn) || !visit(insn)) return;
}

/// The instructions of a block, decoded.
std::vector<x86::Insn> insns_of(const Block& block, const std::vector<Code>& parts);

}  // namespace djprobe::loader
