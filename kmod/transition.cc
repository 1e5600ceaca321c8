// SPDX-License-Identifier: GPL-2.0
// The transitions between a site's states, but for the optimizer's, and what decides about them.
// They take many sites at a time, which share their core syncs.
#include "transition.h"

namespace djprobe::kmod {

Refusal check_to_optimize(KernelText& text, const Site& site) {
    if (const Refusal refusal = check_site_text(text, site)) return refusal;
    // One right before may be about to get a jump of its own.
    if (const Refusal refusal = find_kprobe_over(site.region())) return refusal;
    const x86::PatchSite& board = site.code.board;
    if (!board.length) return {};
    // A kprobe that is not in the text keeps a copy of what was there.
    if (const Refusal refusal = find_kprobe_over({board.address, board.address + board.length}))
        return refusal;
    return site.written_board.length ? check_text(text, site.written_board, TextForm::Jump)
                                     : check_text(text, board, TextForm::Original);
}

Refusal check_site_text(KernelText& text, const Site& site) {
    // The kernel looks after its kprobe's byte.
    if (site.joins_kprobe()) return {};
    if (site.state == State::Optimized) {
        if (const Refusal refusal = find_kprobe(site.region())) return refusal;
        if (site.written_board.length)
            if (const Refusal refusal = check_text(text, site.written_board, TextForm::Jump))
                return refusal;
        return check_text(text, site.code.jump, TextForm::Jump);
    }
    // Behind the int3 of a site that is held there may be another site's.
    if (!site.wants_jump()) return check_text(text, site.breakpoint, TextForm::Breakpoint);
    // A slide's unpatched form has the int3 of its IA in the tail.
    return check_text(
        text, site.code.jump,
        site.slides() && !site.anchor_armed ? TextForm::Original : TextForm::Breakpoint);
}

/// Why a site may not have its jump now.
Refusal Registry::hold_reason(const Site& site) const {
    if (!site.plan.may_jump()) return site.plan.jump;
    if (!optimization_) return Refusal{Reason::OPTIMIZATION_OFF};
    if (site.int3_probes) return Refusal{Reason::MODE_INT3};
    Refusal overlap;
    sites_.for_each_near(site.region(), [&](const Site& other) {
        if (&other == &site || !site.region().overlaps(other.region())) return;
        // An IA inside must trap by itself. Of two jumps that overlap, the first one stays.
        if (site.region().contains(other.address()) || other.wants_jump())
            overlap = Refusal{Reason::OVERLAP, other.address()};
    });
    return overlap;
}

/// Armed <-> Optimizing or Optimized, as hold_reason() says now. Fails, and changes nothing, when
/// somebody else has patched on top of a jump that should go; the optimizer tries again.
Refusal Registry::settle(Site& site) {
    djk_breathe();
    if (!is_live(site.state) || site.is_obstructed()) return {};
    const Refusal hold = hold_reason(site);
    if (hold && site.wants_jump()) {
        KernelText text;
        if (const Refusal refusal = check_site_text(text, site)) {
            unsettled_ = true;
            djk_optimizer_kick_later();
            return refusal;
        }
        back_to_int3(text, site);
    }
    site.hold = hold;
    // No jump before the first handler is there: it may call that directly.
    if (!hold && site.state == State::Armed && site.has_probes()) {
        set_state(site, State::Optimizing);
        site.quiescence = Quiescence::Wanted;
        djk_optimizer_kick();
    }
    return {};
}

/// Something has gone or come back: others near it may have waited for that.
void Registry::settle_near(Range range) {
    sites_.for_each_near(range, [&](Site& site) {
        if (site.has_probes() && site.region().overlaps(range)) (void)settle(site);
    });
}

/// Jumps over the IAs of `fresh` sites give way to their int3, so that one can be set there. Those
/// that did are `yielding`; nothing has changed when one of them cannot, for the sake of `refused`.
Refusal Registry::make_way(KernelText& text, const SiteList& fresh, SiteList& yielding,
                           const Site*& refused) {
    Refusal refusal;
    for (const Site& site : fresh) {
        if (refusal) break;
        refused = &site;
        const u64 address = site.address();
        sites_.for_each_near({address, address + 1}, [&](Site& other) {
            // One that gives way already is held.
            if (refusal || other.hold || !other.wants_jump() || !other.region().contains(address))
                return;
            refusal = check_site_text(text, other);
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

/// The original byte at `address` as a plan knows it, or -1.
static int planned_byte(const x86::Plan& plan, u64 address) {
    if (address - plan.site < plan.first.length) return plan.first_bytes[address - plan.site];
    if (!plan.may_jump()) return -1;
    if (address - plan.anchor < plan.region.length) return plan.region.bytes[address - plan.anchor];
    const bool on_board = plan.board && address - plan.board < x86::kJumpLength;
    return on_board ? plan.board_bytes[address - plan.board] : -1;
}

/// The text is what the plan, and with it the detour, was made from: it may have been read while
/// the kernel was changing it for a kprobe nearby.
static Refusal differs_from_plan(KernelText& text, const SiteTable& sites, const Site& site) {
    const auto compare = [&](u64 address, Span<const u8> bytes) {
        for (size_t i = 0; i < bytes.size(); ++i) {
            const u64 at = address + i;
            if (text.matches(at, {&bytes[i], 1})) continue;
            // Another site of ours has changed it, and knows what was there: the same.
            bool ours = false;
            sites.for_each_near({at, at + 1}, [&](const Site& other) {
                if (&other != &site && is_live(other.state))
                    ours |= planned_byte(other.plan, at) == bytes[i];
            });
            if (!ours) return Refusal{Reason::FOREIGN_PATCH, at};
        }
        return Refusal{};
    };
    const x86::Plan& plan = site.plan;
    if (const Refusal refusal = compare(plan.site, {plan.first_bytes, plan.first.length}))
        return refusal;
    return plan.may_jump() ? compare(plan.anchor, {plan.region.bytes, plan.region.length})
                           : Refusal{};
}

/// Sites where the kernel has a kprobe take part in that, all or none. Not under the text lock,
/// which the kernel takes.
Refusal Registry::take_seats(SiteList& fresh, const Site*& refused) {
    for (Site& site : fresh) {
        if (!site.joins_kprobe()) continue;
        refused = &site;
        unsigned int reason = 0;
        site.seat = djk_join_kprobe(&site.hit, site.address(), &reason);
        if (!site.seat) return Refusal{static_cast<Reason>(reason), site.address()};
    }
    return {};
}

void Registry::leave_seat(Site& site) {
    if (site.seat) djk_leave_kprobe(site.seat);
    site.seat = nullptr;
}

/// Disarmed -> Armed, all or none; then `refused` is the one that could not.
Refusal Registry::arm(SiteList& fresh, const Site*& refused) {
    SiteList yielding;
    const auto arm_under_lock = [&]() {
        KernelText text;
        // The slots have been written since the cores were last synchronized.
        text.sync_cores();
        if (const Refusal refusal = make_way(text, fresh, yielding, refused)) return refusal;
        for (const Site& site : fresh) {
            if (site.joins_kprobe()) continue;
            refused = &site;
            if (const Refusal refusal = check_text(text, site.breakpoint, TextForm::Original))
                return refusal;
            if (const Refusal refusal = differs_from_plan(text, sites_, site)) return refusal;
            // Since the facts were collected a kprobe of the kernel may have come, whose jump would
            // cover the IA, or one that is not in the text yet.
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
    // Those who made way may have done so in vain.
    if (refusal)
        while (Site* site = yielding.take_first())
            (void)settle(*site);
    return refusal;
}

/// Take the jumps out, or the int3s that make way for them. The IAs' int3s stay. The caller has
/// checked the text.
void Registry::back_to_int3(KernelText& text, const SiteList& sites) {
    for (Site& site : sites)
        if (site.state == State::Optimized) set_state(site, State::Unoptimizing);
    const auto unoptimizing = [](const Site& site) {
        return site.state == State::Unoptimizing ? &site.code.jump : nullptr;
    };
    x86::unoptimize(text, Picked(sites, unoptimizing));
    const auto anchored = [](const Site& site) {
        return site.anchor_armed ? &site.code.jump : nullptr;
    };
    x86::disarm(text, Picked(sites, anchored));
    for (Site& site : sites) {
        if (site.anchor_armed) sites_.remove(site.anchor);
        site.anchor_armed = false;
        // Only now are the bytes behind the first instruction the original ones again.
        // One in the kernel's kprobe has no code of its own.
        if (!site.joins_kprobe()) set_resume(site, site.out_of_line());
        set_state(site, State::Armed);
        update_patch(text, site);
        // Others that overlap may have waited for that, and not only those near the reason for it.
        unsettled_ = true;
        djk_optimizer_kick();
    }
}

void Registry::back_to_int3(KernelText& text, Site& site) {
    SiteList one;
    one.add(site);
    back_to_int3(text, one);
}

/// A detour that cannot be taken out of reach must not call a program that has left: unlike a list
/// of handlers, a direct call is there for good.
void Registry::bypass_call(KernelText& text, Site& site) {
    if (!site.code.shape.direct || site.bypassed) return;
    site.bypass.address = site.code.slot.address() + site.code.layout.call;
    site.bypass.resume = site.displaced();
    sites_.insert(site.bypass);
    site.bypassed = true;
    text.write(site.bypass.address, {&x86::kInt3, 1});
    text.sync_cores();
}

/// Sites without probes, any state -> Disarmed, and out of the table. When somebody else has
/// patched on top of us, a site stays as it is, without handlers, and the optimizer tries again;
/// until then the module must stay.
void Registry::retire(SiteList& sites) {
    if (!sites.first()) return;
    SiteList leaving;
    bool bypassed = false;
    {
        KernelText text;
        while (Site* site = sites.take_first()) {
            djk_breathe();
            if (!check_site_text(text, *site)) {
                bypassed |= site->bypassed;
                leaving.add(*site);
                continue;
            }
            site->keep_module();
            bypass_call(text, *site);
            djk_optimizer_kick_later();
        }
        back_to_int3(text, leaving);
        x86::disarm(text, breakpoints(leaving));
        for (Site& site : leaving) {
            hide_patch(text, site);
            // Its board is freed later, or then not.
            if (site.written_board.length && find_kprobe(site.board())) site.keep_module();
        }
    }
    for (Site& site : leaving)
        leave_seat(site);
    // The int3 in a detour stays there: a task that was preempted right before it must still find
    // its trap, and us.
    if (bypassed) djk_quiesce();
    // Every CPU has synchronized since the last int3 was there: no hit is looking for the site.
    for (Site& site : leaving) {
        set_state(site, State::Disarmed);
        sites_.remove(site);
    }
    while (Site* site = leaving.take_first()) {
        djk_breathe();
        settle_near(site->region());
        if (!site->written_board.length) site->let_module_go();
        // Not for those that stay: the optimizer, which asks here itself, would never rest.
        discard(*site);
    }
}

/// Whether what the site has written is all there, to be taken back. Behind an int3 it has written
/// nothing: what another patcher has done there does not keep it.
static bool may_leave_text(KernelText& text, const Site& site) {
    if (!is_live(site.state)) return false;
    if (site.joins_kprobe() || site.state == State::Optimized) return !check_site_text(text, site);
    const Span<const u8> int3{&x86::kInt3, 1};
    return text.matches(site.address(), int3) &&
           (!site.anchor_armed || text.matches(site.anchor.address, int3));
}

/// Out of text that is about to be freed, as far as nobody else has patched it: until it is, the
/// kernel may still run it, for a module's parameter or asynchronous function.
void Registry::leave_text(SiteList& sites) {
    SiteList leaving, others;
    bool bypassed = false;
    {
        KernelText port;
        while (Site* site = sites.take_first()) {
            // A detour's int3 stays, and its trap goes with the site: in any state.
            bypassed |= site->bypassed;
            if (!may_leave_text(port, *site)) {
                others.add(*site);
                continue;
            }
            leaving.add(*site);
        }
        back_to_int3(port, leaving);
        x86::disarm(port, breakpoints(leaving));
        // Also what the kernel has patched on top of us: nothing is written there any more.
        const SiteList* const both[] = {&leaving, &others};
        for (const SiteList* list : both)
            for (Site& site : *list) {
                hide_patch(port, site);
                hide_board(port, site);
            }
    }
    // As in retire().
    if (bypassed) djk_quiesce();
    SiteList* const lists[] = {&leaving, &others};
    for (SiteList* list : lists)
        while (Site* site = list->take_first()) {
            leave_seat(*site);
            set_state(*site, State::Gone);
            site->written_board = {};
            sites_.remove(*site);
            site->let_module_go();
            // Who is about to attach there finds it gone.
            if (site->is_abandoned()) discard(*site);
        }
}

void Registry::forget(Range text) {
    RegistryLock lock;
    // No module is pinned while it leaves: no site comes to this text any more.
    __atomic_store_n(&unloads_, unloads_ + 1, __ATOMIC_RELEASE);
    analyst_.forget(text);
    Portions portions;
    for_each_site(
        portions, [&](const Site& site) { return text.contains(site.address()); },
        [&](SiteList& some) { leave_text(some); });
    {
        KernelText port;
        garbage_.forget_boards(port, text, sites_);
        freeing_.forget_boards(port, text, sites_);
        stuck_.forget_boards(port, text, sites_);
    }
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
