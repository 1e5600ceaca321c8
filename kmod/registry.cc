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

}  // namespace

void Registry::stop() {
    djk_quiesce();
    RegistryLock lock;
    freeing_.free_all(stuck_, sites_);
    garbage_.free_all(stuck_, sites_);
    // A kprobe has come since a site's last probe went: too late to keep the module.
    stuck_.abandon(sites_);
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
    } else if (!djk_symbol_range(request.address, &start, &size) ||
               !djk_has_name(request.address)) {
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

bool Registry::is_stale(unsigned long since, u64 address) const {
    return since && since != unloads_ && !core_text().contains(address);
}

Refusal Registry::learn_landings() {
    {
        RegistryLock lock;
        if (analyst_.knows_landings()) return {};
    }
    // It takes seconds. Who else is at it does it in vain: the first one's is kept.
    LandingIndex index;
    const Refusal refusal = index.build();
    RegistryLock lock;
    analyst_.set_landings(static_cast<LandingIndex&&>(index));
    // Without it sites may still stay at int3.
    return refusal.reason == Reason::NO_INDEX ? Refusal{} : refusal;
}

/// Find the function that the request names, and look(entry) into it while it cannot go away.
template <class Look>
Refusal Registry::look_into(djp_request& request, Look&& look) {
    u64 entry = 0;
    stamp(request);
    Refusal refusal = locate(request, entry);
    if (!refusal && !entry) refusal = Refusal{Reason::NO_FUNCTION, request.address};
    if (!refusal) refusal = learn_landings();
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
    made->since = request.since;
    djk_probe_set_function(request.handler, request.entry ? request.entry : function_entry);
    return {};
}

/// Place the probes of these requests and keep them, but leave those that are registered as
/// disabled away from the text: they are only checked. All or none: returns their number, or the index of the one that is
/// refused.
size_t Registry::place_active(Span<djp_request> requests, Probes probes, Refusal& refusal) {
    Array<djp_probe*> active(probes.size());
    refusal = active ? learn_landings() : Refusal{Reason::NO_MEMORY};
    if (refusal) return 0;
    size_t count = 0;
    for (djp_probe* probe : probes)
        if (probe->enabled) active[count++] = probe;
    RegistryLock lock;
    for (size_t i = 0; i < requests.size(); ++i) {
        if (!is_stale(requests[i].since, requests[i].address)) continue;
        refusal = Refusal{Reason::MODULE_LEAVING};
        return i;
    }
    Portions portions;
    size_t checked = 0;
    portions.for_each(probes, [&](Probes portion) {
        for (const djp_probe* probe : portion) {
            if (!probe->enabled) refusal = check(*probe);
            if (refusal) return false;
            ++checked;
        }
        return true;
    });
    if (refusal) return checked;
    const size_t placed = place({active.data(), count}, portions, refusal);
    if (refusal) return index_of(active[placed], probes);
    // From here on nothing is undone. Handlers run from now on, each from its own portion on.
    portions.for_each(probes, [&](Probes portion) {
        calls_.forget();
        for (djp_probe* const& at : portion) {
            djp_probe& probe = *at;
            if (probe.enabled) finish(probe);
            // It must not come back in whatever is loaded there next.
            if (is_stale(probe.since, probe.address)) probe.refused = Refusal{Reason::MODULE_GONE};
            probe.since = 0;
            probes_.add(probe);
            // A probe that stays at int3 is told why.
            tell(probe.site ? probe.site->hold : Refusal{Reason::DISABLED},
                 requests[&at - probes.begin()]);
        }
        return true;
    });
    return requests.size();
}

size_t Registry::attach(Span<djp_request> requests, djp_probe** probes) {
    Refusal refusal;
    size_t made = 0;
    for (; made < requests.size(); ++made) {
        Box<djp_probe> probe;
        refusal = djk_is_dying() ? Refusal{Reason::INTERRUPTED} : make_probe(requests[made], probe);
        if (refusal) break;
        probes[made] = probe.release();
        djk_breathe();
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
    Portions portions;
    portions.for_each(probes, [&](Probes portion) {
        leave(portion);
        for (djp_probe* probe : portion) {
            probes_.remove(*probe);
            garbage_.add(probe);
        }
        return true;
    });
}

void Registry::quiesce() {
    const u64 number = clock_.begin();
    djk_registry_unlock();
    djk_quiesce();
    djk_registry_lock();
    clock_.end(number);
}

size_t Registry::enable(Probes probes, Refusal& refusal) {
    Array<djp_probe*> off(probes.size());
    refusal = off ? learn_landings() : Refusal{Reason::NO_MEMORY};
    if (refusal) return 0;
    RegistryLock lock;
    const unsigned long switches = switches_;
    size_t count = 0;
    for (size_t i = 0; i < probes.size(); ++i) {
        // What could not come back when all were switched on has no site.
        if (probes[i]->enabled && (probes[i]->site || !enabled_)) continue;
        if (probes[i]->refused.reason == Reason::MODULE_GONE) {
            refusal = probes[i]->refused;
            return i;
        }
        off[count++] = probes[i];
    }
    Portions portions;
    const size_t placed = place({off.data(), count}, portions, refusal);
    if (refusal) {
        const size_t refused = index_of(off[placed], probes);
        if (switches != switches_) return_to_sites({off.data(), count}, portions);
        return refused;
    }
    portions.for_each(Probes{off.data(), count}, [&](Probes portion) {
        calls_.forget();
        for (djp_probe* probe : portion) {
            finish(*probe);
            probe->enabled = true;
        }
        return true;
    });
    return probes.size();
}

/// Of a group that is refused, the probes that are enabled: set_enabled() came between two portions
/// and left them to the group.
void Registry::return_to_sites(Probes probes, Portions& portions) {
    portions.for_each(probes, [&](Probes portion) {
        calls_.forget();
        for (djp_probe* probe : portion)
            if (probe->enabled) finish(*probe);
        return true;
    });
}

void Registry::disable(Probes probes) {
    RegistryLock lock;
    Portions portions;
    portions.for_each(probes, [&](Probes portion) {
        leave(portion);
        for (djp_probe* probe : portion)
            probe->enabled = false;
        return true;
    });
}

void Registry::set_enabled(bool enabled) {
    // Without it all are refused, which each of them says.
    if (enabled) (void)learn_landings();
    RegistryLock lock;
    if (enabled == enabled_) return;
    // Whoever comes between two portions finds it as it will be.
    enabled_ = enabled;
    ++switches_;
    Portions portions;
    if (enabled)
        switch_on(portions);
    else
        switch_off(portions);
}

void Registry::switch_off(Portions& portions) {
    constexpr size_t kMost = 32;
    WalkedList<djp_probe>::Cursor cursor(probes_, &djp_probe::next);
    while (!cursor.at_end()) {
        djp_probe* some[kMost];
        size_t count = 0;
        portions.take(cursor, kMost, [&](djp_probe& probe) {
            if (probe.linked) some[count++] = &probe;
            return probe.linked;
        });
        leave({some, count});
        if (!cursor.at_end()) portions.pause();
    }
}

void Registry::switch_on(Portions& portions) {
    constexpr size_t kMost = 32;
    // Handlers run in the order of their attachment.
    WalkedList<djp_probe>::Cursor cursor(probes_, &djp_probe::previous);
    while (!cursor.at_end()) {
        djp_probe* some[kMost];
        size_t count = 0;
        bool waits = false;
        // One at a time, since no pointer to a probe of others survives a wait: it may be detached.
        portions.take_while(cursor, kMost, [&](djp_probe& probe) {
            const bool away =
                probe.enabled && !probe.site && probe.refused.reason != Reason::MODULE_GONE;
            waits = away && !is_free(probe);
            if (away && !waits) some[count++] = &probe;
            return waits ? Taken::Not : away ? Taken::Counts : Taken::Skipped;
        });
        // What cannot come back does not keep the others away: it is tried alone then.
        Refusal refusal;
        (void)place_at_once({some, count}, refusal);
        for (djp_probe* probe : Probes{some, count}) {
            // Of one without a site finish() may wait, and give the lock back: the next probe may
            // be gone then.
            if (probe->site || is_free(*probe))
                finish(*probe);
            else
                probe->refused = Refusal{Reason::OVERLAP, probe->address};
        }
        if (waits)
            quiesce();
        else if (!cursor.at_end())
            portions.pause();
    }
}

void Registry::set_optimization(bool optimization) {
    RegistryLock lock;
    if (optimization == optimization_) return;
    optimization_ = optimization;
    Portions portions;
    for_each_site(
        portions, [](Site&) { return true; },
        [&](SiteList& some) {
            SiteList jumping, others;
            {
                KernelText text;
                while (Site* site = some.take_first()) {
                    const bool leaves =
                        !optimization && site->wants_jump() && !check_site_text(text, *site);
                    (leaves ? jumping : others).add(*site);
                }
                back_to_int3(text, jumping);
            }
            SiteList* const lists[] = {&jumping, &others};
            for (SiteList* list : lists)
                while (Site* site = list->take_first())
                    (void)settle(*site);
        });
}

/// The plan of the site that is there, or the one that it would get.
bool Registry::explain(djp_request& request, djp_verdict& verdict) {
    u64 function_entry = 0;
    const Refusal nowhere = locate(request, function_entry);
    tell(nowhere, request);
    if (nowhere) return false;
    Box<x86::Plan> plan = Box<x86::Plan>::create();
    Refusal refusal = plan ? learn_landings() : Refusal{Reason::NO_MEMORY};
    if (!refusal) refusal = pin(request.address);
    if (!refusal) {
        RegistryLock lock;
        if (const Site* site = sites_.find(request.address))
            *plan = site->plan;
        else
            refusal = analyst_.analyse(request.address, sites_, *plan);
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
