// SPDX-License-Identifier: GPL-2.0
// Requests: attach, detach, query, explain.
#include "registry.h"

#include "transition.h"

namespace djprobe::kmod {
namespace {

void link(Site& site, djk_probe* handler) {
    djk_probe** tail = &site.hit.probes;
    while (*tail)
        tail = &(*tail)->next;
    __atomic_store_n(tail, handler, __ATOMIC_RELEASE);
}

void unlink(Site& site, djk_probe* handler) {
    djk_probe** link = &site.hit.probes;
    while (*link != handler)
        link = &(*link)->next;
    // The unlinked one keeps its own link: a hit that stands on it goes on.
    __atomic_store_n(link, handler->next, __ATOMIC_RELEASE);
}

void tell(const Refusal& refusal, djp_request& request) {
    request.reason = static_cast<unsigned int>(refusal.reason);
    request.detail[0] = refusal.detail[0];
    request.detail[1] = refusal.detail[1];
}

}  // namespace

void Registry::stop() {
    djk_quiesce();
    RegistryLock lock;
    garbage_.free();
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

djp_probe* Registry::attach(djp_request& request) {
    u64 function_entry = 0;
    Refusal refusal = locate(request, function_entry);
    if (!refusal)
        if (const unsigned int reason = djk_forbidden(request.address))
            refusal = Refusal{static_cast<Reason>(reason)};
    Box<djp_probe> probe = Box<djp_probe>::create();
    if (!refusal && !probe) refusal = Refusal{Reason::NO_MEMORY};
    if (!refusal) {
        unsigned int reason = 0;
        u64 detail = 0;
        probe->cookie = request.cookie;
        probe->int3_only = request.int3_only;
        probe->handler =
            djk_probe_create(request.prog_fd, request.cookie, function_entry, &reason, &detail);
        if (!probe->handler) refusal = Refusal{static_cast<Reason>(reason), detail};
    }
    if (!refusal) {
        // Until the site is in the table, where forget() finds it, its text must not go away.
        if (djk_pin_target(request.address)) {
            RegistryLock lock;
            refusal = attach_at(request, *probe);
            djk_unpin_target(request.address);
        } else {
            refusal = Refusal{Reason::MODULE_LEAVING};
        }
        if (refusal) djk_probe_destroy(probe->handler);
    }
    // A probe that stays at int3 is told why.
    tell(refusal ? refusal : probe->site->hold, request);
    return refusal ? nullptr : probe.release();
}

Refusal Registry::attach_at(const djp_request& request, djp_probe& probe) {
    Site* site = sites_.find(request.address);
    if (!site) return create_site(request, probe);
    // All probes of a site share its mechanism; who asks for int3 means to see int3.
    site->int3_probes += probe.int3_only;
    if (const Refusal refusal = settle(*site)) {
        site->int3_probes -= probe.int3_only;
        return refusal;
    }
    if (site->holds_module) djk_release_module();
    site->holds_module = false;
    link(*site, probe.handler);
    probe.site = site;
    return {};
}

/// The plan of the site that is there, or the one that it would get.
bool Registry::explain(djp_request& request, djp_verdict& verdict) {
    u64 function_entry = 0;
    const Refusal nowhere = locate(request, function_entry);
    tell(nowhere, request);
    if (nowhere) return false;
    Box<x86::Plan> plan = Box<x86::Plan>::create();
    Refusal refusal = plan ? Refusal{} : Refusal{Reason::NO_MEMORY};
    if (!refusal && djk_pin_target(request.address)) {
        RegistryLock lock;
        if (const Site* site = sites_.find(request.address))
            *plan = site->plan;
        else
            refusal = analyst_.analyse(request.address, sites_, *plan);
        djk_unpin_target(request.address);
    } else if (!refusal) {
        refusal = Refusal{static_cast<Reason>(djk_forbidden(request.address))};
        if (!refusal) refusal = Refusal{Reason::MODULE_LEAVING};
    }
    tell(refusal ? refusal : plan->jump, request);
    verdict.verdict = refusal ? 0 : plan->may_jump() ? 2 : 1;
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

Refusal Registry::create_site(const djp_request& request, djp_probe& probe) {
    Box<Site> site = Box<Site>::create();
    if (!site) return Refusal{Reason::NO_MEMORY};
    site->trap.hit.address = request.address;
    if (const Refusal refusal = analyst_.analyse(request.address, sites_, site->plan))
        return refusal;
    if (const Refusal refusal = build(*site)) return refusal;
    site->hit.probes = probe.handler;
    site->int3_probes = probe.int3_only;
    if (const Refusal refusal = arm(*site)) return refusal;
    probe.site = site.release();
    // Armed, nothing can go wrong any more: at worst it stays so.
    (void)settle(*probe.site);
    return {};
}

void Registry::detach(djp_probe* probe) {
    RegistryLock lock;
    Site& site = *probe->site;
    unlink(site, probe->handler);
    garbage_.add(probe);
    djk_optimizer_kick();
    site.int3_probes -= probe->int3_only;
    if (site.has_probes()) {
        (void)settle(site);
        return;
    }
    if (site.state == State::Gone)
        garbage_.add(&site);
    else
        retire(site);
}

void Registry::query(const djp_probe& probe, djp_status& status) {
    RegistryLock lock;
    const Site& site = *probe.site;
    const bool jump = site.state == State::Optimized;
    status.state = static_cast<unsigned int>(site.state);
    status.mechanism = !is_live(site.state) ? 0 : jump ? 2 : 1;
    status.reason = static_cast<unsigned int>(site.hold.reason);
    status.detail[0] = site.hold.detail[0];
    status.detail[1] = site.hold.detail[1];
    status.address = site.address();
    status.cookie = probe.cookie;
    const bool region = site.wants_jump();
    status.tactic = static_cast<unsigned int>(site.plan.tactic);
    status.anchor = region ? site.plan.anchor : site.address();
    status.displaced_len = region ? site.plan.region.length : site.plan.first.length;
    const u8* bytes = region ? site.plan.region.bytes : site.plan.first_bytes;
    for (unsigned int i = 0; i < status.displaced_len; ++i)
        status.displaced[i] = bytes[i];
    djk_probe_count(probe.handler, &status.hits, status.missed);
}

}  // namespace djprobe::kmod
