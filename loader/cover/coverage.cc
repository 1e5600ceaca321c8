// SPDX-License-Identifier: GPL-2.0
#include "cover/coverage.h"

#include <fmt/core.h>

#include <algorithm>

#include "blocks/count_words.h"

namespace djprobe::loader {
namespace {

FunctionCoverage cover_one(const FunctionFlow& flow, BlockCounts counts,
                           const FunctionLines* source) {
    FunctionCoverage function{&flow, std::move(counts), source, {}, {}, {}};
    for (const Count& count : function.counts.counts)
        function.blocks.add(count.value_or(0), count.has_value());
    if (!source) return function;
    function.lines = source->count(function.counts.counts);
    for (const auto& [file, lines] : function.lines)
        for (const auto& [number, line] : lines)
            function.source_lines.add(line.least, line.whole);
    return function;
}

double percent(const Share& share) {
    return share.all ? 100.0 * static_cast<double>(share.ran) / static_cast<double>(share.all) : 0;
}

std::string share_text(const Share& share) {
    return fmt::format("{:>6}/{:<6}{:>4.0f}% {:>5}", share.ran, share.all, percent(share),
                       share.unknown ? fmt::format("{}?", share.unknown) : "");
}

std::string table_line(const Share& blocks, const Share* lines, const std::string& name) {
    const std::string text = share_text(blocks) + (lines ? "  " + share_text(*lines) : "");
    return fmt::format("{}  {}\n", text, name);
}

struct Totals {
    Share blocks, lines;
};

Totals total(const std::vector<FunctionCoverage>& functions) {
    Totals totals;
    for (const FunctionCoverage& function : functions) {
        totals.blocks.add(function.blocks);
        totals.lines.add(function.source_lines);
    }
    return totals;
}

nlohmann::ordered_json share_json(const Share& share) {
    return {{"all", share.all}, {"ran", share.ran}, {"unknown", share.unknown}};
}

}  // namespace

void Share::add(std::uint64_t least, bool known) {
    ++all;
    if (least)
        ++ran;
    else if (!known)
        ++unknown;
}

void Share::add(const Share& other) {
    all += other.all;
    ran += other.ran;
    unknown += other.unknown;
}

std::vector<FunctionCoverage> cover(const std::vector<FunctionFlow>& flows,
                                    std::vector<BlockCounts> counts,
                                    const std::vector<FunctionLines>& lines) {
    std::vector<FunctionCoverage> functions;
    functions.reserve(flows.size());
    for (std::size_t i = 0; i < flows.size(); ++i)
        functions.push_back(
            cover_one(flows[i], std::move(counts[i]), lines.empty() ? nullptr : &lines[i]));
    return functions;
}

std::string coverage_table(const std::vector<FunctionCoverage>& functions) {
    const bool lines = std::ranges::any_of(
        functions, [](const FunctionCoverage& function) { return function.source != nullptr; });
    std::vector<const FunctionCoverage*> sorted;
    sorted.reserve(functions.size());
    for (const FunctionCoverage& function : functions)
        sorted.push_back(&function);
    std::ranges::stable_sort(sorted, {}, [](const auto* one) { return percent(one->blocks); });
    std::string text =
        fmt::format("{:>13}{:11}{}  {}\n", "BLOCKS RUN", "",
                    lines ? fmt::format("  {:>13}{:11}", "LINES RUN", "") : "", "FUNCTION");
    for (const FunctionCoverage* function : sorted)
        text += table_line(function->blocks, lines ? &function->source_lines : nullptr,
                           function->flow->name);
    const Totals totals = total(functions);
    return text + table_line(totals.blocks, lines ? &totals.lines : nullptr, "(all)");
}

std::string coverage_json(const std::vector<FunctionCoverage>& functions, const char* type) {
    std::string text;
    bool lines = false;
    for (const FunctionCoverage& function : functions) {
        nlohmann::ordered_json json{{"type", "coverage"}, {"function", function.flow->name}};
        json["blocks"] = share_json(function.blocks);
        if (function.source) json["lines"] = share_json(function.source_lines);
        lines |= function.source != nullptr;
        text += json_line(json);
    }
    const Totals totals = total(functions);
    nlohmann::ordered_json json{{"type", type}, {"covered", functions.size()}};
    json["blocks"] = share_json(totals.blocks);
    if (lines) json["lines"] = share_json(totals.lines);
    return text + json_line(json);
}

std::string coverage_pcs(const std::vector<FunctionCoverage>& functions) {
    std::string text;
    for (const FunctionCoverage& function : functions)
        for (std::size_t i = 0; i < function.flow->blocks.size(); ++i)
            if (function.counts.counts[i].value_or(0))
                text += fmt::format("{:#x}\n", function.flow->blocks[i].range.begin);
    return text;
}

}  // namespace djprobe::loader
