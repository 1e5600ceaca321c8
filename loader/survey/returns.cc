// SPDX-License-Identifier: GPL-2.0
#include "survey/returns.h"

#include <algorithm>
#include <cstring>

namespace djprobe::loader {
namespace {

using x86::Insn;
using x86::Kind;

// The return thunk that the compiler calls and the one that boot has chosen for this CPU: they lie
// together.
Range find_return_thunks(const KernelImage& image) {
    const auto compiled = image.address_of("__x86_return_thunk");
    if (!compiled) return {};
    std::uint64_t chosen = *compiled;
    if (const auto variable = image.address_of("x86_return_thunk"))
        if (const auto bytes = image.bytes(*variable, *variable + 8); !bytes.empty())
            std::memcpy(&chosen, bytes.data(), sizeof chosen);
    const auto [first, last] = std::minmax(*compiled, chosen);
    return last - first < 4096 ? Range{first, last + 1} : Range{};
}

}  // namespace

/// What has been seen of one function so far.
struct ReturnFinder::Walk {
    Range home;              ///< the function, once its part is walked through
    Range own;               ///< what is walked through
    std::uint64_t part = 0;  ///< the part elsewhere
    bool tail_calls = false;
    Refusal undecodable;
    std::vector<Return> returns;
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

void ReturnFinder::leave(std::uint64_t target, Walk& walk) const {
    const std::size_t index = map_.find(target);
    const bool known = index != map_.functions().size();
    const std::uint64_t start = known ? map_.functions()[index].code.address : 0;
    if (known && walk.part == start) return;
    if (known && !walk.part && is_part(index))
        walk.part = start;
    else
        walk.tail_calls = true;
}

void ReturnFinder::visit(std::size_t function, Walk& walk) const {
    const TextMap::Function& self = map_.functions()[function];
    const Range thunks = map_.facts().indirect_thunks;
    walk.own = self.code.range();
    walk.undecodable = x86::for_each_insn(self.code, self.real_end, [&](const Insn& insn) {
        // From the part elsewhere control comes back.
        if (insn.rel_size && walk.home.contains(insn.target)) return true;
        if (insn.kind == Kind::Return) {
            walk.returns.push_back({function, insn.address});
        } else if (insn.kind == Kind::IndirectJump) {
            walk.tail_calls = true;
        } else if (insn.kind == Kind::Jump || insn.kind == Kind::CondJump) {
            if (walk.own.contains(insn.target)) return true;
            if (insn.kind == Kind::Jump && return_thunks_.contains(insn.target))
                walk.returns.push_back({function, insn.address});
            else if (thunks.contains(insn.target) || return_thunks_.contains(insn.target))
                walk.tail_calls = true;
            else
                leave(insn.target, walk);
        }
        return true;
    });
    walk.home = walk.own;
}

ReturnVerdict ReturnFinder::judge(std::size_t function) const {
    using Mode = ReturnVerdict::Mode;
    // Functions that a compiler has not made may leave in ways of their own.
    if (!is_compiled(function)) return {Mode::kRefused, Reason::NO_FUNCTION, 0, false};
    Walk walk;
    visit(function, walk);
    if (walk.part && !walk.undecodable) visit(map_.find(walk.part), walk);

    ReturnVerdict verdict;
    verdict.returns = walk.returns.size();
    x86::Plan plan;
    if (walk.tail_calls) {
        const Refusal entry = map_.plan(function, map_.entry(function), plan);
        verdict.mode = entry ? Mode::kRefused : Mode::kShadow;
        verdict.reason = entry ? entry.reason : Reason::TAIL_CALL;
        return verdict;
    }
    verdict.reason = walk.undecodable       ? walk.undecodable.reason
                     : walk.returns.empty() ? Reason::NO_RETURN
                                            : Reason::NONE;
    if (verdict.reason != Reason::NONE) return verdict;
    verdict.jumps = true;
    for (const Return& at : walk.returns) {
        const Refusal refusal = map_.plan(at.function, at.address, plan);
        if (refusal) return {Mode::kRefused, refusal.reason, walk.returns.size(), false};
        verdict.jumps &= plan.may_jump();
    }
    verdict.mode = Mode::kExact;
    return verdict;
}

}  // namespace djprobe::loader
