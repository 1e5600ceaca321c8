// SPDX-License-Identifier: GPL-2.0
#include "blocks/line_counts.h"

#include <algorithm>

#include "base/progress.h"
#include "debuginfo/debug_infos.h"

namespace djprobe::loader {

namespace {

struct LineSum {
    std::uint64_t total = 0, most = 0;
    bool whole = true;
};

LineSum sum_up(const std::vector<std::size_t>& blocks, const std::vector<Count>& counts) {
    LineSum sum;
    for (const std::size_t block : blocks) {
        sum.total += counts[block].value_or(0);
        sum.most = std::max(sum.most, counts[block].value_or(0));
        sum.whole &= counts[block].has_value();
    }
    return sum;
}

// Each block once.
void note(std::vector<std::size_t>& blocks, std::size_t block) {
    if (blocks.empty() || blocks.back() != block) blocks.push_back(block);
}

}  // namespace

FunctionLines::FunctionLines(const FunctionFlow& function, const SourceLines& source) {
    // The last one is the function itself, whatever is inlined at its start.
    if (const auto frames = source.frames(function.address()); !frames.empty()) {
        file_ = frames.back().file;
        line_ = frames.back().line;
    }
    for (std::size_t i = 0; i < function.blocks.size(); ++i)
        for (const x86::Insn& insn : insns_of(function.blocks[i], function.parts))
            add(i, insn.address, source);
}

void FunctionLines::add(std::size_t block, std::uint64_t insn, const SourceLines& source) {
    ++insns_;
    for (const Statement& statement : source.statements(insn))
        note(begun_[statement], block);
    const std::optional<SourceFrame> at = source.line(insn);
    if (!at) return;
    ++known_;
    note(touched_[{at->file, at->line}], block);
}

LineCounts FunctionLines::count(const std::vector<Count>& counts) const {
    LineCounts lines;
    for (const auto& [statement, blocks] : begun_) {
        const LineSum sum = sum_up(blocks, counts);
        LineCount& line = lines[statement.file][statement.line];
        line.least = std::max(line.least, sum.total);
        line.whole &= sum.whole;
    }
    // Of the rest no statement begins anywhere: the compiler has merged it with others.
    for (const auto& [place, blocks] : touched_) {
        const LineSum sum = sum_up(blocks, counts);
        lines[place.first].try_emplace(place.second, LineCount{sum.most, sum.whole});
    }
    return lines;
}

std::vector<FunctionLines> read_lines(const std::vector<FunctionFlow>& functions,
                                      const std::optional<std::string>& debuginfo,
                                      const KernelImage& image, const StopSignals& stop) {
    DebugInfos infos(debuginfo, image.require("_text"));
    std::vector<FunctionLines> all;
    all.reserve(functions.size());
    Progress progress("looking up lines", functions.size());
    for (const FunctionFlow& function : functions) {
        stop.check();
        progress.at(all.size());
        all.emplace_back(function, infos.of(function.module));
    }
    return all;
}

void add_lines(LineCounts& sum, const LineCounts& more) {
    for (const auto& [file, lines] : more)
        for (const auto& [number, line] : lines) {
            LineCount& total = sum[file][number];
            total.least += line.least;
            total.whole &= line.whole;
        }
}

}  // namespace djprobe::loader
