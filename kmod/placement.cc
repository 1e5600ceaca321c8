// SPDX-License-Identifier: GPL-2.0
// Probes onto sites and away from them, many at a time.
#include "transition.h"

namespace djprobe::kmod {
namespace {

void link(Site& site, djk_probe* handler) {
    djk_probe** tail = &site.hit.probes;
    while (*tail)
        tail = &(*tail)->next;
    handler->next = nullptr;
    __atomic_store_n(tail, handler, __ATOMIC_RELEASE);
}

void unlink(Site& site, djk_probe* handler) {
    djk_probe** link = &site.hit.probes;
    while (*link != handler)
        link = &(*link)->next;
    // The unlinked one keeps its own link: a hit that stands on it goes on.
    __atomic_store_n(link, handler->next, __ATOMIC_RELEASE);
}

// WAIT looks at it without the lock; sites are freed after quiescence.
void set_site(djp_probe& probe, Site* site) {
    __atomic_store_n(&probe.site, site, __ATOMIC_RELEASE);
}

}  // namespace

/// What was detached here a moment ago may still have its springboard in the padding that a new
/// plan would use.
void Registry::clear_boards_near(u64 address) {
    stuck_.restore_boards_near(address);
    if (!garbage_.has_board_near(address) && !freeing_.has_board_near(address)) return;
    djk_quiesce();
    garbage_.restore_boards_near(address);
    freeing_.restore_boards_near(address);
}

Refusal Registry::analyse(u64 address, x86::Plan& plan) {
    if (const Refusal refusal = analyst_.analyse(address, sites_, plan)) return refusal;
    // What was read there is a jump of ours.
    const Range first = {address, address + plan.first.length};
    const Range region = {plan.anchor, plan.anchor + (plan.may_jump() ? plan.region.length : 0)};
    const Garbage* const everywhere[] = {&stuck_, &garbage_, &freeing_};
    for (const Garbage* garbage : everywhere)
        if (garbage->has_board_in(first) || garbage->has_board_in(region))
            return Refusal{Reason::FOREIGN_PATCH, address};
    return {};
}

/// In the kernel's kprobe only its own way on from the int3 is there: as a jump it takes a handler's
/// registers but neither its answer nor its ip. And no return address may be replaced while the
/// kernel may have made a jump of it within an NMI.
static Refusal check_may_join(const djp_probe& probe) {
    const bool special = probe.handler->wants != 0 || djk_probe_is_shadow(probe.handler);
    return special ? Refusal{Reason::FOREIGN_PATCH, probe.address} : Refusal{};
}

Refusal Registry::make_site(const djp_probe& probe, Box<Site>& made) {
    made = Box<Site>::create();
    if (!made) return Refusal{Reason::NO_MEMORY};
    Site& site = *made;
    site.trap.address = probe.address;
    clear_boards_near(probe.address);
    if (const Refusal refusal = analyse(probe.address, site.plan)) return refusal;
    if (site.plan.may_jump()) site.live = analyst_.find_live(probe.address, sites_);
    site.breakpoint = make_breakpoint_site(site.plan);
    if (site.joins_kprobe()) {
        site.trap.site = &site.hit;
        // The kernel takes every int3 of its kprobe; one that it has just removed is run again.
        set_resume(site, probe.address);
        return check_may_join(probe);
    }
    const auto make_code = [&] {
        site.code.shape = wanted_shape(site, probe.handler);
        return build(site, site.code);
    };
    Refusal refusal = make_code();
    if (refusal && site.plan.may_jump() && refusal.reason != Reason::POST_AT_BRANCH &&
        refusal.reason != Reason::NO_MEMORY) {
        // Its detour cannot be made: int3 remains.
        site.plan.jump = refusal;
        refusal = make_code();
    }
    if (!refusal) lead_to_code(site);
    return refusal;
}

/// The probe's site, which nobody hits yet if it is a fresh one, with code for the probe too.
Refusal Registry::find_or_make_site(djp_probe& probe, SiteList& fresh) {
    Site* site = sites_.find(probe.address);
    if (site && is_live(site->state) && !site->has_probes()) {
        // Detached, but somebody else's patch was in the way. Is it still?
        SiteList left;
        left.add(*site);
        retire(left);
        site = sites_.find(probe.address);
        if (site) return Refusal{Reason::FOREIGN_PATCH, probe.address};
    }
    if (!site) {
        Box<Site> made;
        if (const Refusal refusal = make_site(probe, made)) return refusal;
        site = made.release();
        sites_.insert(*site);
        fresh.add(*site);
    } else {
        Refusal refusal = site->joins_kprobe() ? check_may_join(probe) : Refusal{};
        if (!refusal) refusal = reshape(*site, probe.handler);
        if (refusal) return refusal;
    }
    // All probes of a site share its mechanism; who asks for int3 means to see int3.
    site->int3_probes += probe.int3_only;
    if (const Refusal refusal = settle(*site)) {
        site->int3_probes -= probe.int3_only;
        return refusal;
    }
    ++site->joining;
    site->joining_wants |= probe.handler->wants;
    set_site(probe, site);
    return {};
}

/// Undo find_or_make_site().
void Registry::take_back(Probes probes, SiteList& fresh) {
    for (djp_probe* probe : probes) {
        Site& site = *probe->site;
        site.int3_probes -= probe->int3_only;
        site.joining = 0;
        site.joining_wants = 0;
        if (site.has_probes()) {
            (void)reshape(site, nullptr);
            (void)settle(site);
        }
        set_site(*probe, nullptr);
    }
    while (Site* site = fresh.take_first()) {
        // A hit elsewhere may be looking through the table.
        sites_.remove(*site);
        // Those who joined have been settled while this was still in their way.
        settle_near(site->region());
        garbage_.add(site);
        djk_optimizer_kick();
    }
}

size_t Registry::place_pinned(Probes probes, Refusal& refusal) {
    for (djp_probe* probe : probes)
        calls_.prepare(analyst_.machine(), probe->handler);
    SiteList fresh;
    size_t placed = 0;
    for (; placed < probes.size() && !refusal; ++placed) {
        refusal = find_or_make_site(*probes[placed], fresh);
        if (refusal) break;
        djk_breathe();
    }
    const Site* refused = nullptr;
    if (!refusal) {
        writer_.flush();
        refusal = arm(fresh, refused);
    }
    if (refusal) {
        writer_.drop();
        size_t index = placed;
        for (size_t i = placed; refused && i-- > 0;)
            if (probes[i]->site == refused) index = i;
        take_back(probes.first(placed), fresh);
        return index;
    }
    for (djp_probe* probe : probes) {
        Site& site = *probe->site;
        djk_probe_start(probe->handler);
        link(site, probe->handler);
        site.joining = 0;
        site.joining_wants = 0;
        (void)settle(site);
        probe->refused = Refusal{};
    }
    // Armed, nothing can go wrong any more: at worst they stay so.
    for (Site& site : fresh)
        (void)settle(site);
    return placed;
}

/// Place all or none, under the registry lock: returns their number, or the index of the one that
/// is refused.
size_t Registry::place(Probes probes, Refusal& refusal) {
    // Until the sites are in the table, where forget() finds them, their text must not go away.
    size_t pinned = 0;
    while (pinned < probes.size() && djk_pin_target(probes[pinned]->address))
        ++pinned;
    if (pinned < probes.size()) refusal = Refusal{Reason::MODULE_LEAVING};
    calls_.forget();
    const size_t placed = refusal ? pinned : place_pinned(probes, refusal);
    for (djp_probe* probe : probes.first(pinned))
        djk_unpin_target(probe->address);
    return placed;
}

/// Take the probes off their sites. The handlers may still run until quiescence.
void Registry::leave(Probes probes) {
    SiteList empty;
    calls_.forget();
    for (djp_probe* probe : probes) {
        Site* const site = probe->site;
        if (!site) continue;
        unlink(*site, probe->handler);
        probe->left = clock_.next();
        djk_probe_stop(probe->handler);
        site->int3_probes -= probe->int3_only;
        set_site(*probe, nullptr);
        if (site->state == State::Gone) {
            if (!site->has_probes()) garbage_.add(site);
        } else if (site->has_probes()) {
            // Without memory it keeps code that does more than it must.
            (void)reshape(*site, nullptr);
            (void)settle(*site);
        } else {
            empty.add(*site);
        }
    }
    retire(empty);
    djk_optimizer_kick();
}

}  // namespace djprobe::kmod
