// SPDX-License-Identifier: GPL-2.0
#include "flow.h"

#include "../arch/x86/scan.h"

namespace djprobe::kmod {
namespace {

using x86::Flow;
using x86::Insn;
using x86::Rewritten;

/// What of a function its bytes do not show.
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

/// The compiled functions that a function calls; more than fit count as others.
struct Callees {
    static constexpr size_t kMax = 64;
    u64 all[kMax];
    size_t count = 0;

    void visit(const Insn& insn) {
        if (insn.kind != x86::Kind::Call || count == kMax) return;
        for (size_t i = 0; i < count; ++i)
            if (all[i] == insn.target) return;
        if (djk_is_compiled(insn.target)) all[count++] = insn.target;
    }
};

/// Finds where a function's jumps leave it to: other functions, or its own part elsewhere.
class Leaving {
  public:
    Leaving(Range own, const djk_machine& machine)
        : own_(own), thunks_{machine.return_thunks.begin, machine.return_thunks.end} {}

    /// The part elsewhere, 0: none.
    u64 cold() const { return cold_; }
    /// Every jump that leaves is a tail call or leads there.
    bool all_known() const { return known_; }

    void visit(const Insn& insn) {
        const bool jump = insn.kind == x86::Kind::Jump || insn.kind == x86::Kind::CondJump;
        if (!jump || own_.contains(insn.target) || thunks_.contains(insn.target)) return;
        u64 start = 0, size = 0;
        if (!djk_symbol_range(insn.target, &start, &size)) {
            known_ = false;
        } else if (start == cold_ && cold_) {
            return;
        } else if (djk_is_compiled(start)) {
            // Only a part of this function is entered elsewhere than at its start.
            known_ &= start == insn.target;
        } else if (!cold_ && djk_is_part(start)) {
            cold_ = start;
        } else {
            known_ = false;
        }
    }

  private:
    Range own_, thunks_;
    u64 cold_ = 0;
    bool known_ = true;
};

bool may_be_rewritten(Range range, const LandingIndex& index) {
    for (u64 at = range.begin; at < range.end; ++at)
        if (index.may_be_rewritten(at)) return true;
    return false;
}

}  // namespace

x86::Live find_live_at(u64 site, const djk_machine& machine, const LandingIndex& index,
                       const SiteTable& sites) {
    struct Scratch {
        FunctionCopy function, cold;
        Callees callees;
        Rewrites rewrites;
    };
    const Box<Scratch> scratch = Box<Scratch>::create();
    if (!scratch) return {};
    auto& [function, cold, callees, rewrites] = *scratch;
    if (!function.load(site)) return {};
    function.recover_own(sites);
    const Code code = function.code();
    // Assembly is left alone.
    if (!djk_is_compiled(code.address)) return {};

    Leaving leaving(code.range(), machine);
    const auto look = [&](const Insn& insn) {
        leaving.visit(insn);
        callees.visit(insn);
        return true;
    };
    bool whole = !x86::for_each_insn(code, code.range().end, look);
    Flow flow;
    flow.function = code;
    if (leaving.cold()) {
        if (!cold.load(leaving.cold())) return {};
        cold.recover_own(sites);
        flow.cold = cold.code();
        Leaving back(code.range(), machine);
        whole &= !x86::for_each_insn(flow.cold, flow.cold.range().end, [&](const Insn& insn) {
            if (!flow.cold.range().contains(insn.target)) back.visit(insn);
            callees.visit(insn);
            return true;
        });
        whole &= back.all_known() && !back.cold();
    }
    flow.whole = whole && leaving.all_known();
    flow.standard_abi = true;
    flow.has_fixups = djk_has_fixups(code.range().begin, code.range().end) ||
                      djk_has_fixups(flow.cold.range().begin, flow.cold.range().end);
    flow.return_thunks = {machine.return_thunks.begin, machine.return_thunks.end};
    flow.indirect_thunks = {machine.indirect_thunks.begin, machine.indirect_thunks.end};

    rewrites.function = code.range();
    rewrites.cold = flow.cold.range();
    djk_visit_kprobes(code.address, Rewrites::visit, &rewrites);
    if (may_be_rewritten(rewrites.function, index) || may_be_rewritten(rewrites.cold, index))
        djk_visit_rewritten_flow(code.address, Rewrites::visit, &rewrites);
    if (!rewrites.complete) return {};
    flow.rewritten = {rewrites.all, rewrites.count};
    flow.compiled_callees = {callees.all, callees.count};
    return find_live(flow, site);
}

}  // namespace djprobe::kmod
