// SPDX-License-Identifier: GPL-2.0
#include "blocks/listing.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/plural.h"
#include "blocks/count_words.h"
#include "survey/disasm.h"

namespace djprobe::loader {
namespace {

std::uint64_t highest(const std::vector<Count>& counts) {
    std::uint64_t most = 0;
    for (const Count& count : counts)
        most = std::max(most, count.value_or(0));
    return most;
}

std::string address_text(std::uint64_t address) {
    return fmt::format("{:#x}", address);
}

struct Known {
    std::size_t ran = 0, counted = 0, computed = 0, unknown = 0;
};

Known tally(const BlockCounts& counts, const std::vector<bool>& counted) {
    Known known;
    for (std::size_t i = 0; i < counted.size(); ++i) {
        known.ran += counts.counts[i].value_or(0) != 0;
        known.counted += counted[i];
        known.computed += !counted[i] && counts.counts[i];
        known.unknown += !counts.counts[i];
    }
    return known;
}

}  // namespace

std::string block_listing(const FunctionFlow& function, const BlockCounts& counts,
                          Symbolizer& symbolizer) {
    const Describe describe = [&](std::uint64_t address) { return symbolizer.describe(address); };
    const std::uint64_t most = highest(counts.counts);
    std::string text = fmt::format("{}\n{:>14} {:8} {:>12}  {}\n", function.name, "COUNT", "",
                                   "OFFSET", "INSTRUCTION");
    for (std::size_t i = 0; i < function.blocks.size(); ++i) {
        std::string count = count_text(counts.counts[i]), mark = count_bar(counts.counts[i], most);
        for (const x86::Insn& insn : insns_of(function.blocks[i], function.parts)) {
            const auto part = std::ranges::find_if(function.parts, [&](const Code& code) {
                return code.range().contains(insn.address);
            });
            std::size_t length;
            text +=
                fmt::format("{:>14} {:8} {:>12}  {}\n", count, mark, function.offset(insn.address),
                            disassemble(part->from(insn.address), insn.address, describe, length));
            count.clear();
            mark.clear();
        }
    }
    return text;
}

bool has_not_run(const BlockCounts& counts) {
    return std::ranges::all_of(counts.counts, [](const Count& count) { return count == Count(0); });
}

std::string block_summary(const FunctionFlow& function, const BlockCounts& counts,
                          const std::vector<bool>& counted) {
    const Known known = tally(counts, counted);
    std::string text = fmt::format("{}: {}, {} ran, {} counted, {} computed, {} unknown\n",
                                   function.name, plural(function.blocks.size(), "block"),
                                   known.ran, known.counted, known.computed, known.unknown);
    if (!counts.unbalanced.empty()) {
        text += fmt::format("{}: counts do not balance, calls were under way:", function.name);
        for (const std::size_t block : counts.unbalanced)
            text += " " + function.offset(function.blocks[block].range.begin);
        text += "\n";
    }
    return text;
}

std::string block_json(const FunctionFlow& function, const BlockCounts& counts,
                       const std::vector<bool>& counted) {
    nlohmann::ordered_json json{{"type", "blocks"}, {"function", function.name}};
    json["address"] = address_text(function.address());
    json["blocks"] = nlohmann::ordered_json::array();
    const std::vector<std::vector<Count>> edges = solve_edges(function.blocks, counts.counts);
    for (std::size_t i = 0; i < function.blocks.size(); ++i) {
        const Block& block = function.blocks[i];
        nlohmann::ordered_json one{{"offset", function.offset(block.range.begin)},
                                   {"address", address_text(block.range.begin)},
                                   {"end", address_text(block.range.end)},
                                   {"count", count_json(counts.counts[i])},
                                   {"counted", static_cast<bool>(counted[i])},
                                   {"arrives", block.arrives},
                                   {"leaves", block.leaves}};
        one["next"] = nlohmann::ordered_json::array();
        for (std::size_t n = 0; n < block.next.size(); ++n)
            one["next"].push_back(
                {{"offset", function.offset(function.blocks[block.next[n]].range.begin)},
                 {"count", count_json(edges[i][n])}});
        json["blocks"].push_back(one);
    }
    json["unbalanced"] = nlohmann::ordered_json::array();
    for (const std::size_t block : counts.unbalanced)
        json["unbalanced"].push_back(function.offset(function.blocks[block].range.begin));
    return json_line(json);
}

}  // namespace djprobe::loader
