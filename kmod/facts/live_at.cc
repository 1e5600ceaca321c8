// SPDX-License-Identifier: GPL-2.0
#include "live_at.h"

#include "returns.h"

namespace djprobe::kmod {
namespace {

using x86::Flow;
using x86::Insn;
using x86::Rewritten;

constexpr bool is_same(Rewritten::Kind ours, djk_flow_kind kernels) {
    return static_cast<unsigned int>(ours) == kernels;
}
static_assert(is_same(Rewritten::Kind::Label, DJK_FLOW_LABEL));
static_assert(is_same(Rewritten::Kind::Call, DJK_FLOW_CALL));
static_assert(is_same(Rewritten::Kind::Unknown, DJK_FLOW_UNKNOWN));

/// What a function does that its bytes do not show.
struct Rewrites {
    static constexpr size_t kMax = 64;
    Rewritten all[kMax];
    size_t count = 0;
    bool complete = true;
    Range function, cold;

    static void visit(void* context, unsigned int kind, unsigned long place, unsigned long target) {
        auto& self = *static_cast<Rewrites*>(context);
        if (!self.function.contains(place) && !self.cold.contains(place)) return;
        if (self.count == kMax)
            self.complete = false;
        else
            self.all[self.count++] = {place, static_cast<Rewritten::Kind>(kind), target};
    }
};

/// Tell the flow where the kernel rewrites instructions in it. False: in too many places.
bool find_rewritten(const LandingIndex& index, Rewrites& rewrites, Flow& flow) {
    rewrites.function = flow.function.range();
    rewrites.cold = flow.cold.range();
    rewrites.count = 0;
    djk_visit_kprobes(Rewrites::visit, &rewrites);
    index.visit_rewritten(rewrites.function, Rewrites::visit, &rewrites);
    if (rewrites.cold.size()) index.visit_rewritten(rewrites.cold, Rewrites::visit, &rewrites);
    flow.rewritten = {rewrites.all, rewrites.count};
    return rewrites.complete;
}

/// What the function's own bytes tell: its part elsewhere is not known.
Flow flow_of(const Code& code, const djk_machine& machine) {
    Flow flow;
    flow.function = code;
    flow.standard_abi = true;
    flow.has_fixups = djk_has_fixups(code.range().begin, code.range().end);
    flow.return_thunks = {machine.return_thunks.begin, machine.return_thunks.end};
    flow.indirect_thunks = {machine.indirect_thunks.begin, machine.indirect_thunks.end};
    flow.is_compiled = [](u64 callee) { return djk_is_compiled(callee); };
    return flow;
}

/// How control leaves `function`, by a walk that knows its home.
template <class Visit>
void learn_leaving(DecodedFunction& function, u64 home, KernelExits& exits, Visit&& visit) {
    DecodedFunction::Leaving& leaving = function.leaving();
    if (leaving.known && leaving.home == home) return;
    leaving = {.known = true, .whole = true, .home = home, .part = 0};
    const Refusal undecoded = exits.walk(function.code(), [&](const Insn&, Exit exit) {
        leaving.whole &= visit(exit);
        return true;
    });
    if (undecoded) leaving.whole = false;
    leaving.part = exits.part();
}

/// Add its part elsewhere, and whether that is all. False: it cannot be read.
bool add_cold_part(const LiveAtMemo& memo, const djk_machine& machine, const OwnText& ours,
                   Flow& flow) {
    DecodedFunction &function = memo.function, &cold = memo.cold;
    KernelExits exits(machine);
    learn_leaving(function, 0, exits, [](Exit exit) { return exit != Exit::Unknown; });
    flow.whole = function.leaving().whole;
    if (!function.leaving().part) return true;
    if (cold.read(function.leaving().part, ours)) return false;
    flow.cold = cold.code();
    flow.cold_memo = &cold.memo();
    exits = KernelExits(machine, flow.function.range());
    learn_leaving(cold, flow.function.address, exits,
                  [](Exit exit) { return exit != Exit::Unknown && exit != Exit::Part; });
    flow.whole &= cold.leaving().whole;
    flow.has_fixups |= djk_has_fixups(flow.cold.range().begin, flow.cold.range().end);
    return true;
}

/// All that an increment without more instructions needs. Where less of the function is known, more
/// counts as live: what is dead here is dead.
constexpr x86::Asked kOfCounter = {x86::register_bit(x86::kRax), false};

bool serves_counter(const x86::Live& live) {
    return !live.flags && !(live.registers & kOfCounter.registers);
}

}  // namespace

x86::Live find_live_at(u64 site, const LiveAtMemo& memo, const djk_machine& machine,
                       const LandingIndex& index, const OwnText& ours, bool increments) {
    const Code& code = memo.function.code();
    // Assembly follows no calling convention: everything counts as live.
    if (!djk_is_compiled(code.address)) return {};
    const Box<Rewrites> rewrites = Box<Rewrites>::create();
    if (!rewrites) return {};
    Flow flow = flow_of(code, machine);
    flow.effects = &memo.effects;
    flow.memo = &memo.function.memo();
    if (increments) {
        if (!find_rewritten(index, *rewrites, flow)) return {};
        const x86::Live live = find_live(flow, site, kOfCounter);
        if (serves_counter(live)) return live;
    }
    if (!add_cold_part(memo, machine, ours, flow)) return {};
    if (!find_rewritten(index, *rewrites, flow)) return {};
    return find_live(flow, site);
}

}  // namespace djprobe::kmod
