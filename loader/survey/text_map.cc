// SPDX-License-Identifier: GPL-2.0
#include "survey/text_map.h"

#include <fmt/core.h>

#include <algorithm>

#include "../../arch/x86/analysis/far_arrivals.h"
#include "../../arch/x86/analysis/local_arrivals.h"
#include "../../kmod/linux_names/trap_path.h"
#include "base/progress.h"
#include "survey/image_functions.h"

namespace djprobe::loader {
namespace {

using x86::Insn;
using x86::Kind;
using x86::Landing;
using x86::Reserved;

/// The same ranges, `reach` longer at both ends, sorted and apart.
std::vector<Range> widen(std::vector<Range> ranges, std::uint64_t reach) {
    std::ranges::sort(ranges, {}, &Range::begin);
    std::vector<Range> apart;
    for (const Range range : ranges) {
        const Range wide = {range.begin - std::min(range.begin, reach), range.end + reach};
        if (apart.empty() || apart.back().end < wide.begin)
            apart.push_back(wide);
        else
            apart.back().end = std::max(apart.back().end, wide.end);
    }
    return apart;
}

/// Whether one of the ranges, as widen() returns them, holds it.
bool holds(const std::vector<Range>& apart, std::uint64_t address) {
    const auto next = std::ranges::upper_bound(apart, address, {}, &Range::begin);
    return next != apart.begin() && std::prev(next)->contains(address);
}

/// Which granules of the text have part in some ranges: what most addresses are asked first.
class Granules {
  public:
    Granules(const std::vector<Range>& ranges, Range hull)
        : begin_(hull.begin), bits_(index(hull.end) + 1) {
        for (const Range range : ranges)
            for (std::size_t i = index(range.begin); i <= index(range.end); ++i)
                bits_[i] = true;
    }
    [[nodiscard]] bool may_hold(std::uint64_t address) const { return bits_[index(address)]; }

  private:
    [[nodiscard]] std::size_t index(std::uint64_t address) const {
        return (address - begin_) / 256;
    }

    std::uint64_t begin_;
    std::vector<bool> bits_;
};

/// What most functions have fewer instructions than.
constexpr std::size_t kRoom = 4096;

/// A function's own ftrace call is its first instruction, or the one behind an endbr64.
constexpr u64 kOwnCallEnd = 4 + 5;

/// Nothing in the code falls through its end or branches there.
bool ends_before(const Code& code) {
    bool ends = false;
    const Refusal refusal = x86::for_each_insn(code, code.range().end, [&](const Insn& insn) {
        if (insn.kind == Kind::Int3 || insn.kind == Kind::Nop || insn.kind == Kind::Endbr)
            return true;
        // The callee may be one that does not return.
        ends = insn.is_terminal() || insn.is_call() || insn.kind == Kind::Trap;
        if (!insn.rel_size || insn.target != code.range().end) return true;
        ends = false;
        return false;
    });
    return ends && !refusal;
}

}  // namespace

TextMap::TextMap(const KernelImage& image, const TextFacts& facts, std::vector<Range> focus,
                 const StopSignals* stop)
    : facts_(facts), starts_(facts.text.size() / 64 + 1), landings_(facts.landings) {
    const auto text = image.bytes(facts.text.begin, facts.text.end);
    add_functions(image, text);
    scan_each(focus.empty() ? std::vector<bool>(functions_.size(), true)
                            : find_near(std::move(focus), text, stop),
              stop);
    if (!functions_.empty()) {
        // The bytes before the first symbol: they have no name and take no probe.
        Function padding{};
        const std::uint64_t size = functions_.front().code.address - facts.text.begin;
        padding.code = {facts.text.begin, {text.data(), size}};
        std::vector<Insn> room(kRoom);
        scan(padding, room);
    }
    std::sort(landings_.begin(), landings_.end(),
              [](const Landing& a, const Landing& b) { return a.target < b.target; });
    for (const Reserved& reserved : facts.reserved)
        reserved_until_.push_back(
            std::max(reserved_until_.empty() ? 0 : reserved_until_.back(), reserved.range.end));
    find_trap_path(image);
}

void TextMap::add_functions(const KernelImage& image, std::span<const u8> text) {
    const auto& symbols = image.symbols().symbols();
    // Ranges may nest: a blacklisted function in a blacklisted section.
    const std::vector<Range> blacklist = widen(facts_.blacklist, 0), idle = widen(facts_.idle, 0),
                             fragile = widen(facts_.fragile, 0);
    std::size_t first = 0;  // symbol of this address; of several the kernel means the first
    for (std::size_t i = 0; i < symbols.size(); ++i) {
        const std::uint64_t begin = symbols[i].address;
        if (symbols[first].address != begin) first = i;
        if (!facts_.text.contains(begin)) continue;
        if (i + 1 < symbols.size() && symbols[i + 1].address == begin) continue;
        const std::uint64_t end = i + 1 < symbols.size()
                                      ? std::min(symbols[i + 1].address, facts_.text.end)
                                      : facts_.text.end;
        Function function{};
        function.code = {begin, {text.data() + (begin - facts_.text.begin), end - begin}};
        function.name = symbols[first].name;
        function.blacklisted = holds(blacklist, begin);
        function.idle = holds(idle, begin);
        function.fragile = holds(fragile, begin);
        add_with_nameless(function);
    }
}

/// A weak function that the linker has overridden leaves its code and its ftrace call, but no
/// symbol: kallsyms counts that code to the function before it. To the module it is no text.
void TextMap::add_with_nameless(Function function) {
    const Range range = function.code.range();
    const auto& reserved = facts_.reserved;
    auto at = std::lower_bound(
        reserved.begin(), reserved.end(), range.begin + kOwnCallEnd,
        [](const Reserved& owner, u64 address) { return owner.range.begin < address; });
    for (; at != reserved.end() && at->range.begin < range.end; ++at) {
        const u64 call = at->range.begin;
        const Code before = {function.code.address,
                             function.code.bytes.first(call - function.code.address)};
        if (at->reason != Reason::FTRACE_SITE || !ends_before(before)) continue;
        // In a running kernel every nop counts that may be a call, also the nop of a jump label.
        if (at != reserved.begin() && std::prev(at)->range.begin == call) continue;
        function.code = before;
        functions_.push_back(function);
        function.code = {call, {before.bytes.data() + before.bytes.size(), range.end - call}};
        function.nameless = true;
    }
    functions_.push_back(function);
}

/// Which functions hold the ranges, or what may lead there.
std::vector<bool> TextMap::find_near(std::vector<Range> focus, std::span<const u8> text,
                                     const StopSignals* stop) const {
    // Tactics reach some way, and from there short branches.
    constexpr std::uint64_t reach = 1024;
    const std::vector<Range> near = widen(std::move(focus), reach);
    std::vector<bool> wanted(functions_.size());
    for (const Range range : near) {
        const auto first = std::ranges::upper_bound(
            functions_, range.begin, {}, [](const Function& one) { return one.code.range().end; });
        for (auto i = first; i != functions_.end() && i->code.address < range.end; ++i)
            wanted[static_cast<std::size_t>(i - functions_.begin())] = true;
    }
    const Code all = {facts_.text.begin, {text.data(), text.size()}};
    const Range hull = {near.front().begin, near.back().end};
    const Granules granules(near, hull);
    std::size_t source = 0;
    x86::find_long_branches(all, hull, [&](u64 field, u64 target) {
        // Fields come by address, most of them in the function of the one before.
        while (source < functions_.size() && functions_[source].code.range().end <= field) {
            if (stop) stop->check();
            ++source;
        }
        if (source == functions_.size()) return false;
        if (!wanted[source] && functions_[source].code.address <= field &&
            granules.may_hold(target) && holds(near, target) &&
            x86::looks_like_branch(all, field, target))
            wanted[source] = true;
        return true;
    });
    return wanted;
}

void TextMap::scan_each(const std::vector<bool>& wanted, const StopSignals* stop) {
    Progress progress("analysing functions", functions_.size());
    std::vector<Insn> room(kRoom);
    for (std::size_t i = 0; i < functions_.size(); ++i) {
        if (stop) stop->check();
        progress.at(i);
        if (wanted[i]) scan(functions_[i], room);
    }
}

/// `room` keeps the instructions for the further questions.
void TextMap::scan(Function& function, std::vector<Insn>& room) {
    x86::KnownInsns known{{room.data(), room.size()}};
    const Code code{function.code.address, function.code.bytes, &known};
    bool leaves = false;
    function.undecodable = x86::for_each_insn(code, code.range().end, [&](const Insn& insn) {
        const std::uint64_t bit = insn.address - facts_.text.begin;
        starts_[bit / 64] |= 1ull << bit % 64;
        if (insn.rel_size && insn.kind != Kind::Plain)
            landings_.push_back({Reason::BRANCH_INTO_REGION, insn.address, insn.target});
        if (facts_.text.contains(insn.taken))
            landings_.push_back({Reason::POINTER_INTO_REGION, insn.address, insn.taken});
        leaves |= insn.kind == Kind::IndirectJump ||
                  (insn.rel_size && facts_.indirect_thunks.contains(insn.target));
        return true;
    });
    function.real_end = x86::real_end(code);
    function.dead_padding = x86::dead_padding(code);
    // This is the answer of find_indirect_jump() where there is none, which is most often the case.
    function.indirect_jump = function.undecodable;
    if (!leaves) return;
    x86::Snapshot snapshot;
    snapshot.function = code;
    snapshot.no_jump_tables = facts_.no_jump_tables;
    snapshot.indirect_thunks = facts_.indirect_thunks;
    function.indirect_jump = x86::find_indirect_jump(snapshot);
}

void TextMap::find_trap_path(const KernelImage& image) {
    // No code of a module runs on the int3 path.
    if (!facts_.module.empty()) return;
    u64 members[x86::kMaxTrapPath];
    std::size_t count = 0;
    const djprobe_root* lacking = nullptr;
    const Refusal unknown = x86::find_trap_path(ImageFunctions(image), members, count, lacking);
    if (lacking) reject_lacking(image, *lacking);
    if (unknown)
        image.reject(
            fmt::format("the code that runs on every int3 is not known from {} on, so that no site "
                        "is safe",
                        describe(unknown.detail[0])));
    for (std::size_t i = 0; i < count; ++i)
        if (const std::size_t index = find(members[i]); index < functions_.size())
            functions_[index].trap_path = true;
}

std::span<const Landing> TextMap::arrivals(Range range) const {
    const auto by_target = [](const Landing& landing, u64 target) {
        return landing.target < target;
    };
    const auto begin = std::lower_bound(landings_.begin(), landings_.end(), range.begin, by_target);
    return {begin, std::lower_bound(begin, landings_.end(), range.end, by_target)};
}

std::uint64_t TextMap::entry(std::size_t function) const {
    const Surroundings around(*this, function);
    const auto is_ftrace_call = [&](std::uint64_t at) {
        const Reserved* owner = around.reserved({at, at + 1});
        return owner && owner->reason == Reason::FTRACE_SITE && owner->range.begin == at;
    };
    std::uint64_t at = functions_[function].code.address;
    Insn first;
    if (x86::decode(functions_[function].code.from(at), at, first)) {
        // The kernel overwrites the endbr64 of a function whose address is never taken by a nop.
        const bool sealed = first.kind == Kind::Nop && first.length == 4;
        if (first.kind == Kind::Endbr || (sealed && is_ftrace_call(first.end()))) at = first.end();
    }
    return is_ftrace_call(at) ? at + 5 : at;
}

std::string TextMap::describe(std::uint64_t address) const {
    const std::size_t index = find(address);
    if (index == functions_.size()) return fmt::format("{:#x}", address);
    std::size_t named = index;
    while (named && functions_[named].nameless)
        --named;
    return fmt::format("{}+{:#x}", name(index), address - functions_[named].code.address);
}

std::string TextMap::name(std::size_t function) const {
    const std::string_view name = functions_[function].name;
    return facts_.module.empty() ? std::string(name) : fmt::format("{}:{}", facts_.module, name);
}

std::size_t TextMap::find(std::uint64_t address) const {
    const auto next = std::upper_bound(
        functions_.begin(), functions_.end(), address,
        [](std::uint64_t a, const Function& function) { return a < function.code.address; });
    if (next == functions_.begin() || !std::prev(next)->code.range().contains(address))
        return functions_.size();
    return static_cast<std::size_t>(std::prev(next) - functions_.begin());
}

Refusal TextMap::forbidden(std::size_t function) const {
    if (functions_[function].nameless) return Refusal{Reason::NOT_TEXT};
    if (functions_[function].idle) return Refusal{Reason::IDLE_TEXT};
    if (functions_[function].blacklisted) return Refusal{Reason::BLACKLISTED};
    if (functions_[function].fragile) return Refusal{Reason::FRAGILE_TEXT};
    if (functions_[function].trap_path) return Refusal{Reason::TRAP_PATH};
    return {};
}

Refusal TextMap::plan(std::size_t function, std::uint64_t site, x86::Plan& out) const {
    return plan(function, site, out, x86::NoTracer{});
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
    const auto behind = std::lower_bound(
        all.begin(), all.end(), range.end,
        [](const Reserved& reserved, u64 end) { return reserved.range.begin < end; });
    const Reserved* found = nullptr;
    for (auto at = static_cast<std::size_t>(behind - all.begin());
         at-- > 0 && map_.reserved_until_[at] > range.begin;)
        if (all[at].range.overlaps(range)) found = &all[at];
    return found;
}

Refusal TextMap::Surroundings::arrival(Range range) const {
    const auto arrivals = map_.arrivals(range);
    if (!arrivals.empty()) {
        const Landing& first = arrivals.front();
        return Refusal{first.reason, first.source, first.target};
    }
    // A function near enough for a short branch is trusted only if it can be decoded.
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

u64 TextMap::Surroundings::find_board_in(std::size_t index, Range reach, u8* bytes) const {
    const Function& function = map_.functions_[index];
    const Range padding =
        function.real_end ? function.dead_padding : x86::dead_padding(function.code);
    return x86::find_board_in(*this, function.code, padding, reach, bytes);
}

u64 TextMap::Surroundings::find_board(Range reach, u8* bytes) const {
    const auto& functions = map_.functions_;
    for (std::size_t i = index_; i < functions.size() && functions[i].code.address < reach.end; ++i)
        if (const u64 board = find_board_in(i, reach, bytes)) return board;
    for (std::size_t i = index_; i-- > 0 && functions[i].code.range().end > reach.begin;)
        if (const u64 board = find_board_in(i, reach, bytes)) return board;
    return 0;
}

}  // namespace djprobe::loader
