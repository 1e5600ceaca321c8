// SPDX-License-Identifier: GPL-2.0
#include "survey/returns.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "../../kmod/linux_names/no_return_names.h"

namespace djprobe::loader {
namespace {

using x86::Insn;

// The return thunk that the compiler calls and the one that boot has turned every return to for
// this CPU. Where they do not lie together, the latter.
Range find_return_thunks(const KernelImage& image) {
    const auto compiled = image.address_of("__x86_return_thunk");
    if (!compiled) return {};
    std::uint64_t chosen = *compiled;
    if (const auto variable = image.address_of("x86_return_thunk"))
        if (const auto bytes = image.bytes(*variable, *variable + 8); !bytes.empty())
            std::memcpy(&chosen, bytes.data(), sizeof chosen);
    const auto [first, last] = std::minmax(*compiled, chosen);
    return last - first < 4096 ? Range{first, last + 1} : Range{chosen, chosen + 1};
}

}  // namespace

/// What has been seen of one function so far.
struct ReturnFinder::Walk {
    bool tail_calls = false;
    Refusal undecodable;
    std::vector<Return> returns;
};

/// What x86::Exits asks.
struct ReturnFinder::Symbols {
    const ReturnFinder& finder;

    bool start_of(u64 address, u64& start) const {
        const std::size_t function = finder.map_.find(address);
        if (function == finder.map_.functions().size()) return false;
        start = finder.map_.functions()[function].code.address;
        return true;
    }
    bool is_compiled(u64 start) const { return finder.is_compiled(finder.map_.find(start)); }
    bool is_part(u64 start) const { return finder.is_part(finder.map_.find(start)); }
};

ReturnFinder::ReturnFinder(const KernelImage& image, const TextMap& map)
    : map_(map), return_thunks_(find_return_thunks(image)) {}

bool ReturnFinder::is_part(std::size_t function) const {
    return !is_compiled(function) &&
           map_.functions()[function].name.find(".cold") != std::string_view::npos;
}

bool ReturnFinder::is_compiled(std::size_t function) const {
    const Range range = map_.functions()[function].code.range();
    const auto& reserved = map_.facts().reserved;
    auto at = std::lower_bound(reserved.begin(), reserved.end(), range.begin,
                               [](const x86::Reserved& reserved, std::uint64_t begin) {
                                   return reserved.range.begin < begin;
                               });
    for (; at != reserved.end() && at->range.begin < range.end; ++at)
        if (at->reason == Reason::FTRACE_SITE) return true;
    return false;
}

bool ReturnFinder::is_static_call(const Insn& insn) const {
    const x86::Reserved* owner =
        TextMap::Surroundings(map_, 0).reserved({insn.address, insn.end()});
    return owner && owner->reason == Reason::STATIC_CALL;
}

void ReturnFinder::visit(std::size_t function, SymbolExits& exits, Walk& walk) const {
    const auto note = [&](const Insn& insn, x86::Exit exit) {
        switch (exit) {
            case x86::Exit::None:
                break;
            case x86::Exit::Part:
                walk.tail_calls |= exits.in_part();
                break;
            case x86::Exit::Return:
                // A static call that leads nowhere as yet, or jumps to the return thunk.
                if (is_static_call(insn))
                    walk.tail_calls = true;
                else
                    walk.returns.push_back({function, insn.address});
                break;
            case x86::Exit::TailCall:
            case x86::Exit::Unknown:
                walk.tail_calls = true;
                break;
        }
        return true;
    };
    walk.undecodable = exits.walk(map_.functions()[function].code, note);
}

Refusal ReturnFinder::refuse_exact(const Walk& walk, bool& jumps) const {
    if (walk.tail_calls) return Refusal{Reason::TAIL_CALL};
    if (walk.undecodable) return walk.undecodable;
    if (walk.returns.empty()) return Refusal{Reason::NO_RETURN};
    jumps = true;
    x86::Plan plan;
    for (const Return& at : walk.returns) {
        if (const Refusal refusal = map_.plan(at.function, at.address, plan)) return refusal;
        jumps &= plan.may_jump();
    }
    return {};
}

Refusal ReturnFinder::refuse_shadow(std::size_t function, const Walk& walk) const {
    if (const Refusal refusal = map_.forbidden(function)) return refusal;
    if (walk.undecodable) return walk.undecodable;
    if (walk.returns.empty() && !walk.tail_calls) return Refusal{Reason::NO_RETURN};
    const std::string_view name = map_.functions()[function].name;
    // The kernel's list for kretprobes has this one name on x86.
    if (name == "__switch_to" || std::ranges::count(djprobe_no_return, name) != 0)
        return Refusal{Reason::SPECIAL_RETURN};
    const std::uint64_t entry = map_.entry(function);
    if (!map_.arrivals({entry, entry + 1}).empty()) return Refusal{Reason::ENTRY_AGAIN};
    x86::Plan plan;
    return map_.plan(function, entry, plan);
}

ReturnVerdict ReturnFinder::judge(std::size_t function) const {
    using Mode = ReturnVerdict::Mode;
    // Functions that a compiler has not made may leave in ways of their own.
    if (!is_compiled(function)) return {Mode::kRefused, Reason::NO_FUNCTION, 0, false};
    SymbolExits exits({*this}, return_thunks_, map_.facts().indirect_thunks.compiled);
    Walk walk;
    visit(function, exits, walk);
    if (exits.part() && !walk.undecodable) visit(map_.find(exits.part()), exits, walk);

    ReturnVerdict verdict;
    verdict.returns = walk.returns.size();
    if (const Refusal exact = refuse_exact(walk, verdict.jumps)) {
        const Refusal shadow = refuse_shadow(function, walk);
        verdict.mode = shadow ? Mode::kRefused : Mode::kShadow;
        verdict.reason = shadow ? shadow.reason : exact.reason;
        verdict.jumps = false;
        return verdict;
    }
    verdict.mode = Mode::kExact;
    return verdict;
}

}  // namespace djprobe::loader
