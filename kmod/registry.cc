// SPDX-License-Identifier: GPL-2.0
// Requests: attach, detach, enable, disable, query, explain.
#include "registry.h"

#include "exits.h"
#include "shadow_entry.h"
#include "transition.h"

namespace djprobe::kmod {
namespace {

Mechanism mechanism_of(State state) {
    if (!is_live(state)) return Mechanism::None;
    return state == State::Optimized ? Mechanism::Jump : Mechanism::Int3;
}

/// Keep the text at `address` from going away, until djk_unpin_target(); or why it cannot be.
Refusal pin(u64 address) {
    if (djk_pin_target(address)) return {};
    const Refusal forbidden{static_cast<Reason>(djk_forbidden(address))};
    return forbidden ? forbidden : Refusal{Reason::MODULE_LEAVING};
}

/// Of one that is among them.
size_t index_of(const djp_probe* probe, Probes probes) {
    for (size_t i = 0; i < probes.size(); ++i)
        if (probes[i] == probe) return i;
    return 0;
}

/// use(portion) for all in the list that may be on a site, some at a time: this needs no memory.
template <class Use>
void for_each_portion(djp_probe* first, djp_probe* djp_probe::*link, Use&& use) {
    constexpr size_t kPortion = 32;
    djp_probe* portion[kPortion];
    for (djp_probe* probe = first; probe;) {
        size_t count = 0;
        for (; probe && count < kPortion; probe = probe->*link)
            if (probe->enabled && probe->refused.reason != Reason::MODULE_GONE)
                portion[count++] = probe;
        use(Span<djp_probe*>{portion, count});
    }
}

}  // namespace

void Registry::stop() {
    djk_quiesce();
    RegistryLock lock;
    freeing_.free(stuck_);
    garbage_.free(stuck_);
    // A kprobe has come since a site's last probe went: too late to keep the module.
    stuck_.abandon();
}

Refusal Registry::locate(djp_request& request, u64& function_entry) {
    u64 start = request.address;
    u64 size = 0;
    if (request.symbol) {
        u64 other[2] = {0, 0};
        if (const unsigned int reason = djk_symbol_find(request.symbol, &start, other))
            return Refusal{static_cast<Reason>(reason), other[0], other[1]};
        if (!djk_symbol_range(start, &start, &size)) return Refusal{Reason::NOT_TEXT};
        if (request.offset >= size) return Refusal{Reason::PAST_END, start, start + size};
        request.address = start + request.offset;
    } else if (!djk_symbol_range(request.address, &start, &size)) {
        return Refusal{Reason::NOT_TEXT};
    }
    const u64 entry = djk_function_entry(start);
    if (request.address == start) request.address = entry;
    function_entry = request.address == entry ? start : 0;
    return {};
}

void Registry::stamp(djp_request& request) const {
    if (!request.since) request.since = __atomic_load_n(&unloads_, __ATOMIC_ACQUIRE);
}

bool Registry::is_stale(const djp_request& request) const {
    return request.since != unloads_ && !core_text().contains(request.address);
}

void Registry::keep(djp_probe& probe) {
    probe.previous = nullptr;
    probe.next = probes_;
    if (probes_) probes_->previous = &probe;
    probes_ = &probe;
}

/// Find the function that the request names, and look(entry) into it while it cannot go away.
template <class Look>
Refusal Registry::look_into(djp_request& request, Look&& look) {
    u64 entry = 0;
    stamp(request);
    Refusal refusal = locate(request, entry);
    if (!refusal && !entry) refusal = Refusal{Reason::NO_FUNCTION, request.address};
    if (!refusal) refusal = pin(entry);
    if (!refusal) {
        RegistryLock lock;
        refusal = look(entry);
        djk_unpin_target(entry);
    }
    tell(refusal, request);
    request.entry = entry;
    return refusal;
}

size_t Registry::find_returns(djp_request& request, Array<u64>& returns) {
    size_t count = 0;
    const Refusal refusal = look_into(request, [&](u64 entry) {
        return kmod::find_returns(entry, analyst_.machine(), sites_, returns, count);
    });
    return refusal ? 0 : count;
}

bool Registry::find_shadow_entry(djp_request& request) {
    const Refusal refusal = look_into(request, [&](u64 entry) {
        return check_shadow_entry({entry, request.address}, analyst_, sites_);
    });
    request.symbol = nullptr;
    request.offset = 0;
    return !refusal;
}

/// The probe of a request, on no site yet.
Refusal Registry::make_probe(djp_request& request, Box<djp_probe>& made) {
    u64 function_entry = 0;
    stamp(request);
    if (const Refusal refusal = locate(request, function_entry)) return refusal;
    if (const unsigned int reason = djk_forbidden(request.address))
        return Refusal{static_cast<Reason>(reason)};
    if (!djk_probe_may_be_at(request.handler, request.address, function_entry && !request.entry))
        return Refusal{Reason::PROG_OVERRIDE};
    made = Box<djp_probe>::create();
    if (!made) return Refusal{Reason::NO_MEMORY};
    made->handler = request.handler;
    made->address = request.address;
    made->cookie = request.cookie;
    made->int3_only = request.int3_only;
    made->at_return = request.entry != 0;
    made->enabled = !request.disabled;
    djk_probe_set_function(request.handler, request.entry ? request.entry : function_entry);
    return {};
}

/// Place the probes of these requests and keep them, but leave those that are registered as
/// disabled away from the text. All or none: returns their number, or the index of the one that is
/// refused.
size_t Registry::place_active(Span<djp_request> requests, Probes probes, Refusal& refusal) {
    Array<djp_probe*> active(probes.size());
    if (!active) {
        refusal = Refusal{Reason::NO_MEMORY};
        return 0;
    }
    size_t count = 0;
    for (djp_probe* probe : probes)
        if (probe->enabled) active[count++] = probe;
    RegistryLock lock;
    for (size_t i = 0; i < requests.size(); ++i) {
        if (!is_stale(requests[i])) continue;
        refusal = Refusal{Reason::MODULE_LEAVING};
        return i;
    }
    const size_t placed = enabled_ ? place({active.data(), count}, refusal) : count;
    if (refusal) return index_of(active[placed], probes);
    for (size_t i = 0; i < requests.size(); ++i) {
        keep(*probes[i]);
        // A probe that stays at int3 is told why.
        tell(probes[i]->site ? probes[i]->site->hold : Refusal{Reason::DISABLED}, requests[i]);
    }
    return requests.size();
}

size_t Registry::attach(Span<djp_request> requests, djp_probe** probes) {
    Refusal refusal;
    size_t made = 0;
    for (; made < requests.size(); ++made) {
        Box<djp_probe> probe;
        refusal = make_probe(requests[made], probe);
        if (refusal) break;
        probes[made] = probe.release();
    }
    const size_t placed = refusal ? made : place_active(requests, {probes, made}, refusal);
    if (!refusal) return placed;
    tell(refusal, requests[placed]);
    for (size_t i = 0; i < made; ++i)
        Box<djp_probe>::adopt(probes[i]).reset();
    return placed;
}

void Registry::detach(Probes probes) {
    RegistryLock lock;
    leave(probes);
    for (djp_probe* probe : probes) {
        (probe->previous ? probe->previous->next : probes_) = probe->next;
        if (probe->next) probe->next->previous = probe->previous;
        garbage_.add(probe);
    }
}

void Registry::quiesce() {
    u64 number;
    {
        RegistryLock lock;
        number = clock_.begin();
    }
    djk_quiesce();
    RegistryLock lock;
    clock_.end(number);
}

size_t Registry::enable(Probes probes, Refusal& refusal) {
    Array<djp_probe*> off(probes.size());
    if (!off) {
        refusal = Refusal{Reason::NO_MEMORY};
        return 0;
    }
    for (;; quiesce()) {
        RegistryLock lock;
        size_t count = 0;
        bool free_of_hits = true;
        for (size_t i = 0; i < probes.size(); ++i) {
            // What could not come back when all were switched on has no site.
            if (probes[i]->enabled && (probes[i]->site || !enabled_)) continue;
            if (probes[i]->refused.reason == Reason::MODULE_GONE) {
                refusal = probes[i]->refused;
                return i;
            }
            free_of_hits &= clock_.has_passed(probes[i]->left);
            off[count++] = probes[i];
        }
        // A hit that began before they were disabled may still stand on their handlers' links.
        if (enabled_ && !free_of_hits) continue;
        const size_t placed = enabled_ ? place({off.data(), count}, refusal) : count;
        if (refusal) return index_of(off[placed], probes);
        for (size_t i = 0; i < count; ++i)
            off[i]->enabled = true;
        return probes.size();
    }
}

void Registry::disable(Probes probes) {
    RegistryLock lock;
    leave(probes);
    for (djp_probe* probe : probes)
        probe->enabled = false;
}

void Registry::set_enabled(bool enabled) {
    while (!try_set_enabled(enabled))
        quiesce();
}

/// False: hits may still stand on the links of the handlers that left when all were disabled.
bool Registry::try_set_enabled(bool enabled) {
    RegistryLock lock;
    if (enabled == enabled_) return true;
    if (enabled && !clock_.has_passed(all_left_)) return false;
    enabled_ = enabled;
    if (enabled)
        switch_on();
    else
        switch_off();
    return true;
}

void Registry::switch_off() {
    for_each_portion(probes_, &djp_probe::next, [this](Span<djp_probe*> probes) { leave(probes); });
    all_left_ = clock_.next();
}

void Registry::switch_on() {
    // The list begins with the newest one; handlers run in the order of their attachment.
    djp_probe* oldest = probes_;
    while (oldest && oldest->next)
        oldest = oldest->next;
    for_each_portion(oldest, &djp_probe::previous, [this](Span<djp_probe*> probes) {
        // What cannot come back does not keep the others away.
        for (size_t count = probes.size(); count;) {
            Refusal refusal;
            const size_t placed = place(probes.first(count), refusal);
            if (!refusal) break;
            probes[placed]->refused = refusal;
            --count;
            for (size_t i = placed; i < count; ++i)
                probes[i] = probes[i + 1];
        }
    });
}

void Registry::set_optimization(bool optimization) {
    RegistryLock lock;
    if (optimization == optimization_) return;
    optimization_ = optimization;
    SiteList jumping;
    {
        KernelText text;
        for (Site* site = sites_.first(); site; site = site->next)
            if (!optimization && site->wants_jump() && !check_site_text(text, *site))
                jumping.add(*site);
        back_to_int3(text, jumping);
    }
    for (Site* site = sites_.first(); site; site = site->next)
        (void)settle(*site);
}

/// The plan of the site that is there, or the one that it would get.
bool Registry::explain(djp_request& request, djp_verdict& verdict) {
    u64 function_entry = 0;
    const Refusal nowhere = locate(request, function_entry);
    tell(nowhere, request);
    if (nowhere) return false;
    Box<x86::Plan> plan = Box<x86::Plan>::create();
    Refusal refusal = plan ? pin(request.address) : Refusal{Reason::NO_MEMORY};
    if (!refusal) {
        RegistryLock lock;
        if (const Site* site = sites_.find(request.address))
            *plan = site->plan;
        else
            refusal = analyse(request.address, *plan);
        djk_unpin_target(request.address);
    }
    tell(refusal ? refusal : plan->jump, request);
    verdict.verdict = static_cast<unsigned int>(refusal            ? Verdict::Refused
                                                : plan->may_jump() ? Verdict::Jump
                                                                   : Verdict::Int3);
    if (refusal || !plan->may_jump()) return true;
    verdict.tactic = static_cast<unsigned int>(plan->tactic);
    verdict.before = plan->before;
    verdict.anchor = plan->anchor;
    verdict.board = plan->board;
    verdict.region_len = plan->region.length;
    for (unsigned int i = 0; i < verdict.region_len; ++i)
        verdict.region[i] = plan->region.bytes[i];
    return true;
}

void Registry::describe(const djp_probe& probe, djp_status& status) const {
    status.address = probe.address;
    status.cookie = probe.cookie;
    status.at_return = probe.at_return;
    status.shadow = djk_probe_is_shadow(probe.handler);
    djk_probe_count(probe.handler, &status.hits, status.missed);
    if (!probe.site) {
        status.state = static_cast<unsigned int>(
            probe.refused.reason == Reason::MODULE_GONE ? State::Gone : State::Disarmed);
        tell(probe.refused ? probe.refused : Refusal{Reason::DISABLED}, status);
        status.anchor = probe.address;
        return;
    }
    const Site& site = *probe.site;
    if (site.seat) djk_count_missed_in_kprobe(site.seat, status.missed);
    status.state = static_cast<unsigned int>(site.state);
    status.mechanism = static_cast<unsigned int>(mechanism_of(site.state));
    tell(site.hold, status);
    if (site.state == State::Gone) status.reason = static_cast<unsigned int>(Reason::MODULE_GONE);
    const bool region = site.wants_jump();
    status.tactic = static_cast<unsigned int>(site.plan.tactic);
    status.anchor = region ? site.plan.anchor : site.address();
    status.displaced_len = region ? site.plan.region.length : site.plan.first.length;
    const u8* bytes = region ? site.plan.region.bytes : site.plan.first_bytes;
    for (unsigned int i = 0; i < status.displaced_len; ++i)
        status.displaced[i] = bytes[i];
}

void Registry::query(Probes probes, djp_status* statuses) {
    RegistryLock lock;
    for (const djp_probe* probe : probes)
        describe(*probe, *statuses++ = {});
}

void Registry::list(djp_status_visit visit, void* context) {
    RegistryLock lock;
    for (const djp_probe* probe = probes_; probe; probe = probe->next) {
        djp_status status = {};
        describe(*probe, status);
        if (!visit(context, &status)) return;
        djk_breathe();
    }
}

}  // namespace djprobe::kmod
