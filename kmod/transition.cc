// SPDX-License-Identifier: GPL-2.0
// The transitions between a site's states, but for the optimizer's, and what decides about them.
#include "transition.h"

namespace djprobe::kmod {

Refusal check_site_text(KernelText& text, const Site& site) {
    if (site.state == State::Optimized) {
        if (site.board_written)
            if (const Refusal refusal = check_text(text, site.board, TextForm::Jump))
                return refusal;
        return check_text(text, site.jump, TextForm::Jump);
    }
    // Behind the int3 of a site that is held there may be another site's.
    if (!site.wants_jump()) return check_text(text, site.breakpoint, TextForm::Breakpoint);
    // A slide's unpatched form has the int3 of its IA in the tail.
    return check_text(
        text, site.jump,
        site.slides() && !site.anchor_armed ? TextForm::Original : TextForm::Breakpoint);
}

/// Why a site may not have its jump now.
Refusal Registry::hold_reason(const Site& site) const {
    if (!site.plan.may_jump()) return site.plan.jump;
    if (site.int3_probes) return Refusal{Reason::MODE_INT3};
    for (const Site* other = sites_.first(); other; other = other->next) {
        if (other == &site || !site.region().overlaps(other->region())) continue;
        // An IA inside must trap by itself. Of two jumps that overlap, the first one stays.
        if (site.region().contains(other->address()) || other->wants_jump())
            return Refusal{Reason::OVERLAP, other->address()};
    }
    return {};
}

/// Armed <-> Optimizing or Optimized, as hold_reason() says now. Fails, and changes nothing, when
/// somebody else has patched on top of a jump that should go.
Refusal Registry::settle(Site& site) {
    if (!is_live(site.state)) return {};
    const Refusal hold = hold_reason(site);
    if (hold && site.wants_jump()) {
        KernelText text;
        if (const Refusal refusal = check_site_text(text, site)) return refusal;
        back_to_int3(text, site);
    }
    site.hold = hold;
    if (!hold && site.state == State::Armed) {
        set_state(site, State::Optimizing);
        site.quiescence = Quiescence::Wanted;
        djk_optimizer_kick();
    }
    return {};
}

/// A site has gone: others near it may have waited for that.
void Registry::settle_all(Range range) {
    for (Site* site = sites_.first(); site; site = site->next)
        if (site->has_probes() && site->region().overlaps(range)) (void)settle(*site);
}

/// Jumps over `address` give way to their int3, so that one can be set there.
Refusal Registry::make_way(KernelText& text, u64 address) {
    for (Site* site = sites_.first(); site; site = site->next) {
        if (!site->wants_jump() || !site->region().contains(address)) continue;
        if (const Refusal refusal = check_site_text(text, *site)) return refusal;
        back_to_int3(text, *site);
        site->hold = Refusal{Reason::OVERLAP, address};
    }
    return {};
}

/// Disarmed -> Armed, and into the table.
Refusal Registry::arm(Site& site) {
    const auto arm_under_lock = [&]() {
        KernelText text;
        if (const Refusal refusal = make_way(text, site.address())) return refusal;
        if (const Refusal refusal = check_text(text, site.breakpoint, TextForm::Original))
            return refusal;
        // A hit must find the site as soon as the int3 is there.
        sites_.insert(site);
        x86::arm(text, One{&site.breakpoint});
        set_state(site, State::Armed);
        return Refusal{};
    };
    const Refusal refusal = arm_under_lock();
    // Those who made way may have done so in vain.
    if (refusal) settle_all({site.address(), site.address() + 1});
    return refusal;
}

/// Take the jump out, or the int3 that makes way for it. The IA's int3 stays. The caller has
/// checked the text.
void Registry::back_to_int3(KernelText& text, Site& site) {
    if (site.state == State::Optimized) {
        set_state(site, State::Unoptimizing);
        x86::unoptimize(text, One{&site.jump});
    }
    if (site.anchor_armed) {
        x86::disarm(text, One{&site.jump});
        sites_.remove(site.anchor);
        site.anchor_armed = false;
    }
    // Only now are the bytes behind the first instruction the original ones again.
    set_resume(site, site.out_of_line());
    set_state(site, State::Armed);
}

/// Any state without probes -> Disarmed, and out of the table. When somebody else has patched on
/// top of us, the site stays as it is, without handlers, and the optimizer tries again; until then
/// the module must stay.
void Registry::retire(Site& site) {
    {
        KernelText text;
        if (check_site_text(text, site)) {
            if (!site.holds_module) djk_keep_module();
            site.holds_module = true;
            djk_optimizer_kick_later();
            return;
        }
        back_to_int3(text, site);
        x86::disarm(text, One{&site.breakpoint});
        set_state(site, State::Disarmed);
    }
    // Every CPU has synchronized since the last int3 was there: no hit is looking for the site.
    sites_.remove(site);
    settle_all(site.region());
    if (site.holds_module) djk_release_module();
    garbage_.add(&site);
    djk_optimizer_kick();
}

void Registry::forget(Range text) {
    RegistryLock lock;
    for (Site* site = sites_.first(); site;) {
        Site* next = site->next;
        if (text.contains(site->address())) {
            set_state(*site, State::Gone);
            site->board_written = false;
            sites_.remove(*site);
            if (site->holds_module) djk_release_module();
            if (!site->has_probes()) garbage_.add(site);
        }
        site = next;
    }
    djk_optimizer_kick();
}

}  // namespace djprobe::kmod
