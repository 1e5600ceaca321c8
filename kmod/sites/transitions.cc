// SPDX-License-Identifier: GPL-2.0
// Disarmed -> Armed <-> Optimizing, and Optimized -> Armed, with the rules that decide. Transitions
// take many sites at a time, which share their core syncs.
#include "patched_text.h"
#include "picked.h"
#include "sites.h"
#include "text_checks.h"

namespace djprobe::kmod {
namespace {

/// Whether the jumps of both would take a byte that is the same one. Padding may be the filler of a
/// region, and the place of another site's springboard, which was planned later. (A region that is
/// planned later avoids all springboards, as another springboard does.)
bool overlap_in_text(const Site& site, const Site& other) {
    return site.region().overlaps(other.region()) ||
           site.region().overlaps(other.planned_board()) ||
           site.planned_board().overlaps(other.region());
}

}  // namespace

/// Why a site must not have its jump now.
Refusal Sites::hold_reason(const Site& site) const {
    if (!site.plan.may_jump()) return site.plan.jump;
    if (!optimization_) return Refusal{Reason::OPTIMIZATION_OFF};
    if (site.int3_probes) return Refusal{Reason::MODE_INT3};
    Refusal overlap;
    table_.for_each_near(site.region(), [&](const Site& other) {
        if (&other == &site || !overlap_in_text(site, other)) return;
        // An IA inside the region must trap by itself. Of two jumps that overlap the first stays.
        if (site.region().contains(other.address()) || other.wants_jump() ||
            other.board().overlaps(site.region()))
            overlap = Refusal{Reason::OVERLAP, other.address()};
    });
    return overlap;
}

/// Armed -> Optimizing, or Optimizing and Optimized -> Armed, as hold_reason() says now. A refusal
/// changes nothing: another patcher has written over a jump that should go, and the optimizer tries
/// again.
Refusal Sites::settle(Site& site) {
    djk_breathe();
    if (!is_live(site.state) || site.is_obstructed()) return {};
    const Refusal hold = hold_reason(site);
    if (hold && site.wants_jump()) {
        KernelText text;
        if (const Refusal refusal = check_written(text, site)) {
            unsettled_ = true;
            djk_optimizer_kick_later();
            return refusal;
        }
        back_to_int3(text, site);
    }
    site.hold = hold;
    // No jump before the first handler is linked: the detour may call that directly.
    if (!hold && site.state == State::Armed && site.has_probes()) {
        set_state(site, State::Optimizing);
        site.quiescence = Quiescence::Wanted;
        djk_optimizer_kick();
    }
    return {};
}

/// Sites near `range` may have waited for what has just left it.
void Sites::settle_near(Range range) {
    if (!range.size()) return;
    table_.for_each_near(range, [&](Site& site) {
        if (site.has_probes() &&
            (site.region().overlaps(range) || site.planned_board().overlaps(range)))
            (void)settle(site);
    });
}

/// Let the jumps over the IAs of `fresh` sites give way, so that an int3 can be written there.
/// `yielding` lists the sites whose jumps did. On a refusal nothing has changed: one cannot give
/// way to `refused`.
Refusal Sites::make_way(KernelText& text, const SiteList& fresh, SiteList& yielding,
                        const Site*& refused) {
    Refusal refusal;
    for (const Site& site : fresh) {
        if (refusal) break;
        refused = &site;
        const u64 address = site.address();
        table_.for_each_near({address, address + 1}, [&](Site& other) {
            // A site that gives way already has a hold.
            if (refusal || other.hold || !other.wants_jump() || !other.region().contains(address))
                return;
            refusal = check_written(text, other);
            if (refusal) return;
            other.hold = Refusal{Reason::OVERLAP, address};
            yielding.add(other);
        });
    }
    if (!refusal)
        back_to_int3(text, yielding);
    else
        while (Site* site = yielding.take_first())
            site->hold = Refusal{};
    return refusal;
}

/// Register a kprobe for each site where the kernel has one already. The caller gives all of them
/// back on a refusal. Not under the text lock, whose mutexes the kernel takes.
Refusal Sites::take_seats(SiteList& fresh, const Site*& refused) {
    for (Site& site : fresh) {
        if (!site.joins_kprobe()) continue;
        refused = &site;
        unsigned int reason = 0;
        site.seat = djk_join_kprobe(&site.hit, site.address(), &reason);
        if (!site.seat) return Refusal{static_cast<Reason>(reason), site.address()};
    }
    return {};
}

void Sites::leave_seat(Site& site) {
    if (site.seat) djk_leave_kprobe(site.seat);
    site.seat = nullptr;
}

/// Disarmed -> Armed, all or none. On a refusal `refused` is the site at fault.
Refusal Sites::arm(SiteList& fresh, const Site*& refused) {
    SiteList yielding;
    const auto arm_under_lock = [&]() {
        KernelText text;
        // The slots were written after the last core sync.
        text.sync_cores();
        if (const Refusal refusal = make_way(text, fresh, yielding, refused)) return refusal;
        for (const Site& site : fresh) {
            if (site.joins_kprobe()) continue;
            refused = &site;
            if (const Refusal refusal = check_text(text, site.breakpoint(), TextForm::Original))
                return refusal;
            if (const Refusal refusal = check_unchanged(text, table_, site)) return refusal;
            // After the facts were collected a kprobe may have come whose jump would cover the IA,
            // or one that is not in the text yet.
            if (const Refusal refusal = find_kprobe_over({site.address(), site.address() + 1}))
                return refusal;
        }
        for (Site& site : fresh)
            show_patch(text, site);
        x86::arm(text, breakpoints(fresh));
        for (Site& site : fresh) {
            set_state(site, State::Armed);
            update_patch(text, site);
        }
        return Refusal{};
    };
    if (!fresh.first()) return {};
    Refusal refusal = take_seats(fresh, refused);
    if (!refusal) refusal = arm_under_lock();
    if (refusal)
        for (Site& site : fresh)
            leave_seat(site);
    // The sites that gave way may have done so in vain.
    if (refusal)
        while (Site* site = yielding.take_first())
            (void)settle(*site);
    return refusal;
}

Refusal Sites::arm(size_t count, FunctionRef<Site*(size_t)> site_at, size_t& refused) {
    SiteList fresh;
    Refusal refusal;
    for (size_t i = 0; i < count && !refusal; ++i) {
        Site* const site = site_at(i);
        if (!site) continue;
        if (site->state == State::Gone) {
            refused = i;
            refusal = Refusal{Reason::MODULE_LEAVING};
        }
        if (site->state == State::Disarmed && !site->arming) fresh.add(*site);
        site->arming = site->state == State::Disarmed;
    }
    if (!refusal) {
        const Site* which = nullptr;
        refusal = arm(fresh, which);
        if (refusal)
            for (refused = 0; site_at(refused) != which;)
                ++refused;
    }
    for (size_t i = 0; i < count; ++i)
        if (Site* const site = site_at(i)) site->arming = false;
    return refusal;
}

/// Optimized and Optimizing -> Armed: take the jumps out, and the int3s at slides' anchors. The
/// int3s at the IAs stay. The caller has checked the text.
void Sites::back_to_int3(KernelText& text, const SiteList& sites) {
    const auto jump = [](const Site& site) { return site.jump(); };
    const auto optimized = [](const Site& site) { return site.state == State::Optimized; };
    x86::unoptimize(text, Picked(sites, optimized, jump));
    const auto anchored = [](const Site& site) { return site.anchor_armed; };
    x86::disarm(text, Picked(sites, anchored, jump));
    for (Site& site : sites) {
        if (site.anchor_armed) table_.remove(site.anchor);
        site.anchor_armed = false;
        // Only now do the bytes behind the first instruction hold the original again. A site that
        // joins a kprobe has no code to resume in.
        if (!site.joins_kprobe()) set_resume(site, site.out_of_line());
        set_state(site, State::Armed);
        update_patch(text, site);
        // Sites that overlap this one may have waited for that, and not only the new ones.
        unsettled_ = true;
        djk_optimizer_kick();
    }
}

void Sites::back_to_int3(KernelText& text, Site& site) {
    SiteList one;
    one.add(site);
    back_to_int3(text, one);
}

}  // namespace djprobe::kmod
