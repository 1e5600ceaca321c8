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

/// One of those who have joined is linked now, or has given up.
void stop_joining(Site& site) {
    if (--site.joining == 0) site.joining_wants = 0;
}

// WAIT looks at it without the lock; sites are freed after quiescence.
void set_site(djp_probe& probe, Site* site) {
    __atomic_store_n(&probe.site, site, __ATOMIC_RELEASE);
}

}  // namespace

/// No hit stands on the probe's link any more, and no springboard on its way out lies where its
/// plan would use the padding.
bool Registry::is_free(const djp_probe& probe) const {
    return clock_.has_passed(probe.left) && !garbage_.has_board_near(probe.address, clock_) &&
           !freeing_.has_board_near(probe.address, clock_);
}

/// Of what was disabled or detached a moment ago something is still in the way. The lock is given
/// back meanwhile.
void Registry::wait_until_free(Probes probes) {
    const auto are_free = [&] {
        for (const djp_probe* probe : probes)
            if (!is_free(*probe)) return false;
        return true;
    };
    while (enabled_ && !are_free())
        quiesce();
}

/// From the kernel's kprobe there is one way on: the kernel ignores a handler that wants another
/// once it has made a jump of the kprobe, and calls none behind the instruction. That jump may also
/// be hit within an NMI, where no return address may be replaced; an int3 would tell.
static Refusal check_may_join(const djp_probe& probe) {
    const bool special = probe.handler->wants || djk_probe_is_shadow(probe.handler);
    return special ? Refusal{Reason::FOREIGN_PATCH, probe.address} : Refusal{};
}

Refusal Registry::make_site(const djp_probe& probe, Box<Site>& made) {
    made = Box<Site>::create();
    if (!made) return Refusal{Reason::NO_MEMORY};
    Site& site = *made;
    site.trap.address = probe.address;
    Garbage* const everywhere[] = {&stuck_, &garbage_, &freeing_};
    for (Garbage* garbage : everywhere)
        garbage->restore_boards_near(probe.address, clock_, sites_);
    if (const Refusal refusal = analyst_.analyse(probe.address, sites_, site.plan)) return refusal;
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
Refusal Registry::find_or_make_site(djp_probe& probe) {
    Site* site = sites_.find(probe.address);
    if (site && is_live(site->state) && site->is_abandoned()) {
        // Detached, but somebody else's patch was in the way. Is it still?
        SiteList left;
        left.add(*site);
        retire(left);
        site = sites_.find(probe.address);
        if (site) return Refusal{Reason::FOREIGN_PATCH, probe.address};
    }
    const bool fresh = !site;
    if (fresh) {
        Box<Site> made;
        if (const Refusal refusal = make_site(probe, made)) return refusal;
        site = made.release();
        sites_.insert(*site);
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

/// Onto its site, whose text does not change but for a jump that must go.
Refusal Registry::join(djp_probe& probe) {
    if (probe.refused.reason == Reason::MODULE_GONE) return probe.refused;
    if (is_stale(probe.since, probe.address)) return Refusal{Reason::MODULE_LEAVING};
    // Until the site is in the table, where forget() finds it, its text must not go away.
    if (!djk_pin_target(probe.address)) return Refusal{Reason::MODULE_LEAVING};
    calls_.prepare(analyst_.machine(), probe.handler);
    const Refusal refusal = find_or_make_site(probe);
    djk_unpin_target(probe.address);
    return refusal;
}

/// A probe that is disabled gets no site yet, but a place that can have none is refused now, and not
/// when the probe is enabled.
Refusal Registry::check(const djp_probe& probe) {
    if (sites_.find(probe.address)) return {};
    const Box<x86::Plan> plan = Box<x86::Plan>::create();
    if (!plan) return Refusal{Reason::NO_MEMORY};
    if (!djk_pin_target(probe.address)) return Refusal{Reason::MODULE_LEAVING};
    const Refusal refusal = analyst_.analyse(probe.address, sites_, *plan);
    djk_unpin_target(probe.address);
    return refusal;
}

/// One portion; `joined` counts them. While all are disabled they get no sites. False: refused.
bool Registry::join(Probes probes, Refusal& refusal, size_t& joined) {
    wait_until_free(probes);
    // Programs may have gone while others had the lock.
    calls_.forget();
    for (djp_probe* probe : probes) {
        // Some that could not come back before may have done so since.
        if (!probe->site) refusal = enabled_ ? join(*probe) : check(*probe);
        if (refusal) break;
        ++joined;
        djk_breathe();
    }
    // Whoever comes next may find these sites, and others may arm them.
    writer_.flush();
    return !refusal;
}

/// One portion of those who have joined: their sites get their int3s, whoever has made them.
bool Registry::arm_joined(Probes probes, Refusal& refusal, size_t& armed) {
    SiteList fresh;
    for (size_t i = 0; i < probes.size(); ++i) {
        Site* const site = probes[i]->site;
        if (!site || !enabled_) continue;
        if (site->state == State::Gone) {
            armed += i;
            refusal = Refusal{Reason::MODULE_LEAVING};
            break;
        }
        if (site->state == State::Disarmed && !site->arming) fresh.add(*site);
        site->arming = site->state == State::Disarmed;
    }
    const Site* refused = nullptr;
    if (!refusal) {
        refusal = arm(fresh, refused);
        size_t index = 0;
        while (refusal && probes[index]->site != refused)
            ++index;
        armed += refusal ? index : probes.size();
    }
    for (const djp_probe* probe : probes)
        if (probe->site) probe->site->arming = false;
    return !refusal;
}

/// Join and arm, all or none: returns their number, or the index of the one that is refused. No
/// handler runs before finish().
size_t Registry::place(Probes probes, Portions& portions, Refusal& refusal) {
    size_t done = 0;
    const auto alive = [&] {
        if (djk_is_dying()) refusal = Refusal{Reason::INTERRUPTED};
        return !refusal;
    };
    const auto join_some = [&](Probes some) { return alive() && join(some, refusal, done); };
    const auto arm_some = [&](Probes some) { return alive() && arm_joined(some, refusal, done); };
    if (portions.for_each(probes, join_some)) {
        done = 0;
        if (portions.for_each(probes, arm_some)) return probes.size();
    }
    portions.for_each(probes, [&](Probes some) {
        take_back(some);
        return true;
    });
    return done;
}

/// The same without a pause between the two steps, for a few.
bool Registry::place_at_once(Probes probes, Refusal& refusal) {
    size_t count = 0;
    const bool placed = join(probes, refusal, count) && arm_joined(probes, refusal, count);
    if (!placed) take_back(probes);
    return placed;
}

/// The probe's handler runs from now on. While its request let others have the lock all may have
/// been disabled, and enabled again.
void Registry::finish(djp_probe& probe) {
    while (!probe.linked) {
        Site* const site = probe.site;
        if (site && is_live(site->state) && enabled_) {
            djk_probe_start(probe.handler);
            link(*site, probe.handler);
            probe.linked = true;
            probe.refused = Refusal{};
            stop_joining(*site);
            // Others who joined may not have come.
            if (!site->joining) (void)reshape(*site, nullptr);
            // Armed, nothing can go wrong any more: at worst it stays so.
            (void)settle(*site);
            return;
        }
        if (site && site->state == State::Gone) probe.refused = Refusal{Reason::MODULE_GONE};
        djp_probe* const one[] = {&probe};
        take_back(one);
        if (!enabled_ || probe.refused.reason == Reason::MODULE_GONE) return;
        Refusal refusal;
        if (!place_at_once(one, refusal)) {
            probe.refused = refusal;
            return;
        }
    }
}

/// Undo place(), as far as it came.
void Registry::take_back(Probes probes) {
    SiteList empty;
    calls_.forget();
    for (djp_probe* probe : probes) {
        Site* const site = probe->site;
        if (!site || probe->linked) continue;
        site->int3_probes -= probe->int3_only;
        stop_joining(*site);
        set_site(*probe, nullptr);
        let_go(*site, empty);
    }
    retire(empty);
}

/// Take the probes off their sites. The handlers may still run until quiescence.
void Registry::leave(Probes probes) {
    SiteList empty;
    calls_.forget();
    for (djp_probe* probe : probes) {
        if (!probe->linked) continue;
        Site& site = *probe->site;
        unlink(site, probe->handler);
        probe->linked = false;
        probe->left = clock_.next();
        djk_probe_stop(probe->handler);
        site.int3_probes -= probe->int3_only;
        set_site(*probe, nullptr);
        let_go(site, empty);
    }
    retire(empty);
    djk_optimizer_kick();
}

/// A probe has left. A site whose text must be given back for that goes to `empty`.
void Registry::let_go(Site& site, SiteList& empty) {
    if (site.state == State::Gone) {
        if (site.is_abandoned()) discard(site);
    } else if (!site.is_abandoned()) {
        // Without memory it keeps code that does more than it must.
        (void)reshape(site, nullptr);
        (void)settle(site);
    } else if (site.state == State::Disarmed) {
        // A hit elsewhere may be looking through the table.
        sites_.remove(site);
        // Those who joined have been settled while this was still in their way.
        settle_near(site.region());
        discard(site);
    } else {
        empty.add(site);
    }
}

/// It is out of the table.
void Registry::discard(Site& site) {
    site.left = clock_.next();
    garbage_.add(&site);
    djk_optimizer_kick();
}

}  // namespace djprobe::kmod
