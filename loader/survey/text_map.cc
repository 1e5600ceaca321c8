// SPDX-License-Identifier: GPL-2.0
#include "survey/text_map.h"

#include <algorithm>

namespace djprobe::loader {
namespace {

using x86::Insn;
using x86::Kind;
using x86::Landing;
using x86::Reserved;

bool covers(const std::vector<Range>& sorted, std::uint64_t address) {
    auto next = std::upper_bound(sorted.begin(), sorted.end(), address,
                                 [](std::uint64_t a, Range range) { return a < range.begin; });
    // Ranges may nest (a blacklisted function in a blacklisted section): look at all before.
    while (next != sorted.begin()) {
        --next;
        if (next->contains(address)) return true;
        if (address - next->begin > 1 << 22) return false;
    }
    return false;
}

}  // namespace

TextMap::TextMap(const KernelImage& image, const TextFacts& facts)
    : facts_(facts), starts_(facts.text.size() / 64 + 1), landings_(facts.landings) {
    const auto text = image.bytes(facts.text.begin, facts.text.end);
    const auto& symbols = image.symbols().symbols();
    for (std::size_t i = 0; i < symbols.size(); ++i) {
        const std::uint64_t begin = symbols[i].address;
        if (!facts.text.contains(begin)) continue;
        if (i + 1 < symbols.size() && symbols[i + 1].address == begin) continue;
        const std::uint64_t end = i + 1 < symbols.size()
                                      ? std::min(symbols[i + 1].address, facts.text.end)
                                      : facts.text.end;
        Function function{};
        function.code = {begin, {text.data() + (begin - facts.text.begin), end - begin}};
        function.blacklisted = covers(facts.blacklist, begin);
        function.idle = covers(facts.idle, begin);
        functions_.push_back(function);
    }
    for (Function& function : functions_)
        scan(function, landings_);
    std::sort(landings_.begin(), landings_.end(),
              [](const Landing& a, const Landing& b) { return a.target < b.target; });
    for (const Reserved& reserved : facts.reserved)
        longest_reserved_ = std::max(longest_reserved_, reserved.range.size());
}

void TextMap::scan(Function& function, std::vector<Landing>& landings) {
    const std::uint64_t end = function.code.range().end;
    function.real_end = function.code.address;
    function.undecodable = x86::for_each_insn(function.code, end, [&](const Insn& insn) {
        const std::uint64_t bit = insn.address - facts_.text.begin;
        starts_[bit / 64] |= 1ull << bit % 64;
        if (insn.rel_size && insn.kind != Kind::Plain)
            landings.push_back({Reason::BRANCH_INTO_REGION, insn.address, insn.target});
        return true;
    });
    function.real_end = x86::real_end(function.code);
    x86::Snapshot snapshot;
    snapshot.function = function.code;
    snapshot.no_jump_tables = facts_.no_jump_tables;
    snapshot.indirect_thunks = facts_.indirect_thunks;
    function.indirect_jump = x86::find_indirect_jump(snapshot);
}

std::size_t TextMap::find(std::uint64_t address) const {
    const auto next = std::upper_bound(
        functions_.begin(), functions_.end(), address,
        [](std::uint64_t a, const Function& function) { return a < function.code.address; });
    if (next == functions_.begin() || !std::prev(next)->code.range().contains(address))
        return functions_.size();
    return static_cast<std::size_t>(std::prev(next) - functions_.begin());
}

Refusal TextMap::plan(std::size_t function, std::uint64_t site, x86::Plan& out) const {
    if (functions_[function].idle) return Refusal{Reason::IDLE_TEXT};
    if (functions_[function].blacklisted) return Refusal{Reason::BLACKLISTED};
    return decide(Surroundings(*this, function), site, out);
}

Refusal TextMap::Surroundings::boundary(u64 address, x86::Boundary& out) const {
    const Range range = function().range();
    if (self().undecodable && address >= self().undecodable.detail[0]) return self().undecodable;
    out = {address, address + 1};
    while (out.before > range.begin && !map_.is_insn_start(out.before))
        --out.before;
    while (out.after < range.end && !map_.is_insn_start(out.after))
        ++out.after;
    return {};
}

const Reserved* TextMap::Surroundings::reserved(Range range) const {
    const auto& all = map_.facts_.reserved;
    auto at = std::lower_bound(
        all.begin(), all.end(), range.begin - std::min(range.begin, map_.longest_reserved_),
        [](const Reserved& reserved, u64 begin) { return reserved.range.begin < begin; });
    for (; at != all.end() && at->range.begin < range.end; ++at)
        if (at->range.overlaps(range)) return &*at;
    return nullptr;
}

Refusal TextMap::Surroundings::arrival(Range range) const {
    const auto& all = map_.landings_;
    const auto at = std::lower_bound(
        all.begin(), all.end(), range.begin,
        [](const Landing& landing, u64 target) { return landing.target < target; });
    if (at != all.end() && at->target < range.end)
        return Refusal{at->reason, at->source, at->target};
    // Whoever is near enough for a short branch must be decoded to be trusted.
    const auto& functions = map_.functions_;
    for (std::size_t i = index_; i-- > 0;) {
        if (functions[i].code.range().end + x86::kShortReach <= range.begin) break;
        if (functions[i].undecodable) return functions[i].undecodable;
    }
    for (std::size_t i = index_; i < functions.size(); ++i) {
        if (functions[i].code.address >= range.end + x86::kShortReach) break;
        if (functions[i].undecodable) return functions[i].undecodable;
    }
    return {};
}

u64 TextMap::Surroundings::find_board(Range reach, u8* bytes) const {
    const auto& functions = map_.functions_;
    for (std::size_t i = index_; i < functions.size() && functions[i].code.address < reach.end; ++i)
        if (const u64 board = x86::find_board_in(*this, functions[i].code, reach, bytes)) return board;
    for (std::size_t i = index_; i-- > 0 && functions[i].code.range().end > reach.begin;)
        if (const u64 board = x86::find_board_in(*this, functions[i].code, reach, bytes)) return board;
    return 0;
}

}  // namespace djprobe::loader
