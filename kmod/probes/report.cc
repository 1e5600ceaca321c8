// SPDX-License-Identifier: GPL-2.0
// The requests that change nothing: query, list, explain.
#include "../facts/kernel_text.h"
#include "registry.h"

namespace djprobe::kmod {
namespace {

/// The number is ABI (enum djprobe_miss). The kernel skips a hit of a kprobe for no other reason.
constexpr size_t kMissedByRecursion = 0;

Mechanism mechanism_of(State state) {
    if (!is_live(state)) return Mechanism::None;
    return state == State::Optimized ? Mechanism::Jump : Mechanism::Int3;
}

void describe_displaced(Span<const u8> bytes, djp_status& status) {
    status.displaced_len = static_cast<unsigned int>(bytes.size());
    for (size_t i = 0; i < bytes.size(); ++i)
        status.displaced[i] = bytes[i];
}

/// The caller has named no place at all.
bool is_no_place(Reason reason) {
    return reason == Reason::NO_SUCH_SYMBOL || reason == Reason::AMBIGUOUS_SYMBOL ||
           reason == Reason::PAST_END || reason == Reason::NOT_TEXT;
}

}  // namespace

/// Describe the plan of the site at the target or, where there is none, the plan that it would get.
/// Returns the verdict's reason.
Refusal Registry::explain_target(const Target& target, djp_verdict& verdict) {
    const Box<x86::Plan> plan = Box<x86::Plan>::create();
    Refusal refusal = plan ? learn_landings() : Refusal{Reason::NO_MEMORY};
    if (!refusal) refusal = pin_target(target.address);
    if (!refusal) {
        RegistryLock lock;
        refusal = sites_.plan_for(target.address, *plan);
        djk_unpin_target(target.address);
    }
    verdict = {};
    verdict.verdict = static_cast<unsigned int>(refusal            ? Verdict::Refused
                                                : plan->may_jump() ? Verdict::Jump
                                                                   : Verdict::Int3);
    if (refusal) return refusal;
    if (!plan->may_jump()) return plan->jump;
    verdict.tactic = static_cast<unsigned int>(plan->tactic);
    verdict.before = plan->before;
    verdict.anchor = plan->anchor;
    verdict.board = plan->board;
    verdict.region_len = plan->region.length;
    for (unsigned int i = 0; i < verdict.region_len; ++i)
        verdict.region[i] = plan->region.bytes[i];
    return plan->jump;
}

bool Registry::explain(djp_request& request, djp_verdict& verdict) {
    Targets targets;
    Refusal reason = find_targets(request, 0, targets);
    if (reason) {
        tell(reason, request);
        return !is_no_place(reason.reason);
    }
    for (size_t i = 0; i < targets.count(); ++i) {
        djp_verdict next = {};
        const Refusal why = explain_target(targets[i], next);
        if (i && next.verdict >= verdict.verdict) continue;
        verdict = next;
        reason = why;
    }
    tell(reason, request);
    return true;
}

void Registry::describe(const djp_probe& probe, djp_status& status) const {
    status.address = probe.address;
    status.cookie = probe.cookie;
    status.at_return = probe.at_return;
    status.shadow = djk_handler_is_shadow(probe.handler);
    status.counts = probe.handler->counter != 0;
    status.once = probe.once;
    status.filtered = CodeBuilder::has_front(probe.handler);
    djk_handler_count(probe.handler, &status.hits, status.missed);
    status.missed[kMissedByRecursion] += probe.skipped();
    // All returns of a function share one counter, and sums are made of what each probe tells.
    if (status.counts && probe.is_further) status.hits = 0;
    if (probe.rests) {
        status.state = static_cast<unsigned int>(State::Optimized);
        status.mechanism = static_cast<unsigned int>(Mechanism::Jump);
        status.tactic = static_cast<unsigned int>(probe.resting.tactic());
        status.anchor = probe.resting.region().begin;
        describe_displaced(probe.resting.original(), status);
        return;
    }
    if (!probe.site) {
        status.state = static_cast<unsigned int>(
            probe.away.refused.reason == Reason::MODULE_GONE ? State::Gone : State::Disarmed);
        tell(probe.away.refused ? probe.away.refused : Refusal{Reason::DISABLED}, status);
        status.anchor = probe.address;
        return;
    }
    const Site& site = *probe.site;
    status.state = static_cast<unsigned int>(site.state);
    status.mechanism = static_cast<unsigned int>(mechanism_of(site.state));
    tell(site.hold, status);
    if (site.state == State::Gone) status.reason = static_cast<unsigned int>(Reason::MODULE_GONE);
    const bool region = site.wants_jump();
    status.tactic = static_cast<unsigned int>(site.plan.tactic);
    status.anchor = region ? site.plan.anchor : site.address();
    if (region)
        describe_displaced({site.plan.region.bytes, site.plan.region.length}, status);
    else
        describe_displaced({site.plan.first_bytes, site.plan.first_length}, status);
}

void Registry::query(Probes probes, djp_status* statuses) {
    RegistryLock lock;
    for (const djp_probe* probe : probes)
        describe(*probe, *statuses++ = {});
}

void Registry::list(djp_status_visit visit, void* context) {
    RegistryLock lock;
    Portions portions;
    WalkedList<djp_probe>::Cursor cursor(probes_, &djp_probe::next);
    bool more = true;
    while (!cursor.at_end()) {
        portions.take(cursor, portions.size(), [&](const djp_probe& probe) {
            djp_status status = {};
            if (more) describe(probe, status);
            more = more && visit(context, &status);
            return true;
        });
        if (!more) return;
        if (!cursor.at_end()) portions.pause();
    }
}

}  // namespace djprobe::kmod
