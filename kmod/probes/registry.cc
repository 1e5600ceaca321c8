// SPDX-License-Identifier: GPL-2.0
// Requests: attach, detach, enable, disable; and what the kernel tells of itself.
#include "registry.h"

#include "../facts/kernel_text.h"
#include "../facts/returns.h"
#include "../facts/shadow_entry.h"

namespace djprobe::kmod {
namespace {

/// Of a detached probe, which no CPU runs any more.
void free_probe(Discarded& self) {
    auto& probe = static_cast<djp_probe&>(self);
    djk_handler_destroy(probe.handler);
    Box<djp_probe>::adopt(&probe).reset();
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
    reclaimer_.stop();
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
    if (!refusal) refusal = pin_target(entry);
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
        return kmod::find_returns(entry, analyst_.machine(), table_, returns, count);
    });
    return refusal ? 0 : count;
}

bool Registry::find_shadow_entry(djp_request& request) {
    const Refusal refusal = look_into(request, [&](u64 entry) {
        return check_shadow_entry({entry, request.address}, analyst_, table_);
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
    if (!djk_handler_may_be_at(request.handler, request.address, function_entry && !request.entry))
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
    djk_handler_set_function(request.handler, request.entry ? request.entry : function_entry);
    return {};
}

/// Place the probes of these requests and keep them, but leave those that are registered as
/// disabled away from the text: they are only checked. All or none: returns their number, or the
/// index of the one that is refused.
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
        sites_.begin_portion();
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
            probe->free = free_probe;
            reclaimer_.add(*probe);
        }
        return true;
    });
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
        sites_.begin_portion();
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
        sites_.begin_portion();
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

void Registry::optimize() {
    RegistryLock lock;
    Portions portions;
    sites_.optimize(portions);
}

void Registry::set_optimization(bool optimization) {
    RegistryLock lock;
    if (optimization == sites_.is_optimization_on()) return;
    Portions portions;
    sites_.set_optimization(optimization, portions);
}

void Registry::forget(Range text) {
    RegistryLock lock;
    // No module is pinned while it leaves: no site comes to this text any more.
    __atomic_store_n(&unloads_, unloads_ + 1, __ATOMIC_RELEASE);
    analyst_.forget(text);
    Portions portions;
    sites_.forget(text, portions);
    // A disabled one must not come back in whatever is loaded there next.
    WalkedList<djp_probe>::Cursor cursor(probes_, &djp_probe::next);
    while (!cursor.at_end()) {
        portions.take(cursor, portions.size(), [&](djp_probe& probe) {
            if (text.contains(probe.address)) probe.refused = Refusal{Reason::MODULE_GONE};
            return false;
        });
        if (!cursor.at_end()) portions.pause();
    }
    djk_optimizer_kick();
}

}  // namespace djprobe::kmod
