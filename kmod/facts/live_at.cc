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

}  // namespace

x86::Live find_live_at(u64 site, const Code& code, const djk_machine& machine,
                       const LandingIndex& index, const OwnText& ours) {
    // Assembly follows no calling convention: everything counts as live.
    if (!djk_is_compiled(code.address)) return {};
    struct Scratch {
        FunctionCopy cold;
        Rewrites rewrites;
    };
    const Box<Scratch> scratch = Box<Scratch>::create();
    if (!scratch) return {};
    FunctionCopy& cold = scratch->cold;
    Rewrites& rewrites = scratch->rewrites;

    KernelExits exits(machine);
    bool whole = true;
    const auto visit = [&](const Insn&, Exit exit) {
        whole &= exit != Exit::Unknown && !(exit == Exit::Part && exits.in_part());
        return true;
    };
    if (exits.walk(code, visit)) whole = false;
    Flow flow;
    flow.function = code;
    if (exits.part()) {
        if (!cold.load(exits.part())) return {};
        cold.recover_own(ours);
        flow.cold = cold.code();
        if (exits.walk(flow.cold, visit)) whole = false;
    }
    flow.whole = whole;
    flow.standard_abi = true;
    flow.has_fixups = djk_has_fixups(code.range().begin, code.range().end) ||
                      djk_has_fixups(flow.cold.range().begin, flow.cold.range().end);
    flow.return_thunks = {machine.return_thunks.begin, machine.return_thunks.end};
    flow.indirect_thunks = {machine.indirect_thunks.begin, machine.indirect_thunks.end};

    rewrites.function = code.range();
    rewrites.cold = flow.cold.range();
    djk_visit_kprobes(Rewrites::visit, &rewrites);
    index.visit_rewritten(rewrites.function, Rewrites::visit, &rewrites);
    if (rewrites.cold.size()) index.visit_rewritten(rewrites.cold, Rewrites::visit, &rewrites);
    if (!rewrites.complete) return {};
    flow.rewritten = {rewrites.all, rewrites.count};
    flow.is_compiled = [](u64 callee) { return djk_is_compiled(callee); };
    return find_live(flow, site);
}

}  // namespace djprobe::kmod
