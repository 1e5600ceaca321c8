// SPDX-License-Identifier: GPL-2.0
// Probes get onto their sites and away from them, many at a time.
#include "../sites/operand_checks.h"
#include "registry.h"

namespace djprobe::kmod {

/// No hit stands on the probe's link any more, and no springboard of a removed site lies where the
/// probe's plan would put its own.
bool Registry::is_free(const djp_probe& probe) const {
    return probe.rests ||
           (reclaimer_.has_passed(probe.away.left) && reclaimer_.is_clear(probe.address));
}

/// Wait for what was disabled or detached a moment ago and is still in the way. Others have the
/// lock meanwhile.
void Registry::wait_until_free(Probes probes) {
    const auto are_free = [&] {
        for (const djp_probe* probe : probes)
            if (!is_free(*probe)) return false;
        return true;
    };
    while (enabled_ && !are_free())
        reclaimer_.quiesce();
}

/// A disabled probe gets no site yet. A place that can have none is refused now, and not when the
/// probe is enabled.
Refusal Registry::check(const djp_probe& probe) {
    const Box<x86::Plan> plan = Box<x86::Plan>::create();
    if (!plan) return Refusal{Reason::NO_MEMORY};
    if (!djk_pin_target(probe.address)) return Refusal{Reason::MODULE_LEAVING};
    Refusal refusal = sites_.plan_for(probe.address, *plan);
    if (!refusal) refusal = check_operands(probe.handler, *plan);
    djk_unpin_target(probe.address);
    return refusal;
}

/// Let the probe join its site. The text changes only where a jump must give way.
Refusal Registry::join(djp_probe& probe) {
    if (probe.away.refused.reason == Reason::MODULE_GONE) return probe.away.refused;
    if (is_stale(probe.away.since, probe.address)) return Refusal{Reason::MODULE_LEAVING};
    Site* site = nullptr;
    const Refusal refusal = sites_.join(probe, site);
    if (!refusal) set_site(probe, site);
    return refusal;
}

/// The same for one portion; `joined` counts. While all probes are disabled they get no sites.
/// False: one is refused, and is not left out.
bool Registry::join(Probes probes, Refusal& refusal, size_t& joined) {
    wait_until_free(probes);
    sites_.begin_portion();
    for (djp_probe* probe : probes) {
        // set_enabled() may have brought the probe back since.
        if (!probe->has_site() && !probe->is_left_out())
            refusal = enabled_ ? join(*probe) : check(*probe);
        if (refusal && !leave_out(*probe, refusal)) break;
        ++joined;
        djk_breathe();
    }
    sites_.flush();
    return !refusal;
}

/// Arm the sites of one portion of probes that have joined, whichever request has made the sites.
bool Registry::arm_joined(Probes probes, Refusal& refusal, size_t& armed) {
    const auto site_at = [&](size_t i) { return enabled_ ? probes[i]->site : nullptr; };
    size_t refused = probes.size();
    while ((refusal = sites_.arm(probes.size(), site_at, refused))) {
        if (!leave_out(*probes[refused], refusal)) break;
        djp_probe* const one[] = {probes[refused]};
        take_back(one);
        refused = probes.size();
    }
    armed += refused;
    return !refusal;
}

/// Join and arm, all or none. Returns their number, or the index of the probe that is refused. No
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

/// The same for a few probes, without a pause between the two steps.
bool Registry::place_at_once(Probes probes, Refusal& refusal) {
    size_t count = 0;
    const bool placed = join(probes, refusal, count) && arm_joined(probes, refusal, count);
    if (!placed) take_back(probes);
    return placed;
}

/// Link the probe: its handler runs from now on. While others had the lock, set_enabled() may have
/// disabled all probes, and enabled them again.
void Registry::finish(djp_probe& probe) {
    while (!probe.linked) {
        Site* const site = probe.site;
        if (site) probe.keep_skipped();
        if (site && enabled_ && sites_.link(*site, probe)) {
            probe.linked = true;
            probe.away.refused = Refusal{};
            if (probe.once) djk_watch_once();
            return;
        }
        if (site && site->state == State::Gone) probe.away.refused = Refusal{Reason::MODULE_GONE};
        djp_probe* const one[] = {&probe};
        take_back(one);
        if (!enabled_ || probe.away.refused.reason == Reason::MODULE_GONE) return;
        Refusal refusal;
        if (!place_at_once(one, refusal)) {
            probe.away.refused = refusal;
            return;
        }
    }
}

/// Undo place() as far as it has come.
void Registry::take_back(Probes probes) {
    SiteList empty;
    sites_.begin_portion();
    for (djp_probe* probe : probes) {
        Site* const site = probe->site;
        if (!site || probe->linked) continue;
        set_site(*probe, nullptr);
        sites_.take_back(*site, *probe, empty);
    }
    sites_.retire(empty);
}

/// Take the probes off their sites. Their handlers may still run until a quiescence.
void Registry::leave(Probes probes) {
    SiteList empty;
    sites_.begin_portion();
    sites_.wake(probes.size(), [&](size_t i) -> Member& { return *probes[i]; });
    for (djp_probe* probe : probes) {
        if (!probe->linked) continue;
        Site& site = *probe->site;
        probe->keep_skipped();
        probe->linked = false;
        probe->away.left = reclaimer_.next_quiescence();
        set_site(*probe, nullptr);
        sites_.unlink(site, *probe, empty);
    }
    sites_.retire(empty);
    djk_optimizer_kick();
}

}  // namespace djprobe::kmod
