// SPDX-License-Identifier: GPL-2.0
// A probe joins its site and leaves it.
#include "../facts/kernel_text.h"
#include "operand_checks.h"
#include "patched_text.h"
#include "sites.h"
#include "text_checks.h"

namespace djprobe::kmod {
namespace {

/// Those that count come first: a handler that leads elsewhere ends the list.
void add(Site& site, djk_handler* handler) {
    djk_handler** link = &site.hit.handlers;
    while (*link && (!handler->counter || (*link)->counter))
        link = &(*link)->next;
    // A hit that stands on the one before sees either link, both of which lead on.
    handler->next = *link;
    __atomic_store_n(link, handler, __ATOMIC_RELEASE);
}

void remove(Site& site, djk_handler* handler) {
    djk_handler** link = &site.hit.handlers;
    while (*link != handler)
        link = &(*link)->next;
    // The removed handler keeps its own link: a hit that stands on it goes on.
    __atomic_store_n(link, handler->next, __ATOMIC_RELEASE);
}

/// A member that had joined is linked now, or has taken back its joining.
void stop_joining(Site& site) {
    if (--site.joining) return;
    site.joining_wants = 0;
    site.joining_reads = {};
}

/// A handler on the kernel's kprobe cannot change where the text continues: once the kernel has
/// made a jump of the kprobe, it ignores what the handler wants, and calls no handler behind the
/// instruction. An NMI may hit that jump, too, and no return address may be replaced there: only an
/// int3 could tell.
Refusal check_may_join_kprobe(const Member& member) {
    const bool special = member.handler->wants || djk_handler_is_shadow(member.handler);
    return special ? Refusal{Reason::FOREIGN_PATCH, member.address} : Refusal{};
}

/// Actions want registers of their own, and dead ones need not be saved.
bool only_increments(const djk_handler* handler) {
    return handler->counter && actions_of(handler).empty();
}

}  // namespace

Refusal Sites::plan_for(u64 address, x86::Plan& plan) {
    if (const Site* site = table_.find(address)) {
        plan = site->plan.expand();
        return {};
    }
    if (const Member* member = table_.find_resting(address)) {
        plan = member->resting.plan().expand();
        return {};
    }
    analyst_.forget_allowed();
    return analyst_.analyse(address, table_, plan);
}

Refusal Sites::make_site(const Member& member, Box<Site>& made) {
    reclaimer_.restore_boards_near(member.address);
    x86::Plan plan;
    if (const Refusal refusal = analyst_.analyse(member.address, table_, plan)) return refusal;
    if (const Refusal refusal = check_operands(member.handler, plan)) return refusal;
    const KeptPlan kept(plan);
    const bool rests = member.handler->counter && !member.int3_only && RestingSite::fits(kept) &&
                       core_text().contains(member.address) && !code_.reads_of(member.handler);
    made = Box<Site>::create(rests ? Stay::Short : Stay::Long);
    if (!made) return Refusal{Reason::NO_MEMORY};
    Site& site = *made;
    site.hit.trap.address = member.address;
    site.plan = kept;
    // A program that comes to a counter's site later, and is left alone there, saves more than it
    // must.
    if (site.plan.may_jump())
        site.live = analyst_.find_live(member.address, table_, only_increments(member.handler));
    if (const Refusal refusal = keep_what_is_read(site, member.handler)) return refusal;
    if (site.joins_kprobe()) {
        site.hit.trap.site = &site.hit;
        // The kernel handles every int3 of its kprobe. A hit on one that it has just removed comes
        // to us, and runs the original byte.
        set_resume(site, member.address);
        return check_may_join_kprobe(member);
    }
    const auto make_code = [&] {
        site.code.shape = wanted_shape(site, member.handler);
        return code_.build({plan, site.live, site.hit}, site.code);
    };
    Refusal refusal = make_code();
    if (refusal && site.plan.may_jump() && refusal.reason != Reason::POST_AT_BRANCH &&
        refusal.reason != Reason::NO_MEMORY) {
        // No detour can be made for the jump: the site stays at int3.
        plan.jump = site.plan.jump = refusal;
        refusal = make_code();
    }
    if (!refusal) lead_to_code(site);
    return refusal;
}

/// Find the member's site, or make one that no CPU hits yet; its code serves the member, too.
Refusal Sites::find_or_make_site(const Member& member, Site*& site) {
    site = find_awake(member.address);
    if (site && is_live(site->state) && site->is_abandoned()) {
        // All its probes have left, but another patcher was in the way. Is it still?
        SiteList left;
        left.add(*site);
        retire(left);
        site = table_.find(member.address);
        if (site) return Refusal{Reason::FOREIGN_PATCH, member.address};
    }
    if (!site) {
        Box<Site> made;
        if (const Refusal refusal = make_site(member, made)) {
            if (made) (void)keep_what_is_read(*made, nullptr);
            return refusal;
        }
        site = made.release();
        // Of two that want the same bytes none rests.
        wake_in(site->region());
        wake_in(site->planned_board());
        table_.insert(*site);
    } else {
        Refusal refusal = check_operands(member.handler, site->plan.expand());
        if (!refusal && site->joins_kprobe()) refusal = check_may_join_kprobe(member);
        if (!refusal) refusal = keep_what_is_read(*site, member.handler);
        if (!refusal) refusal = reshape(*site, member.handler);
        if (refusal) return refusal;
    }
    // All members of a site share its mechanism: one that asks for int3 decides for all.
    site->int3_probes += member.int3_only;
    if (const Refusal refusal = settle(*site)) {
        site->int3_probes -= member.int3_only;
        return refusal;
    }
    ++site->joining;
    site->joining_wants |= member.handler->wants;
    site->joining_reads |= code_.reads_of(member.handler);
    return {};
}

Refusal Sites::join(const Member& member, Site*& site) {
    // The kernel must not free the site's text before the site is in the table, where forget()
    // finds it.
    if (!djk_pin_target(member.address)) return Refusal{Reason::MODULE_LEAVING};
    code_.prepare(member.handler);
    const Refusal refusal = find_or_make_site(member, site);
    // What it would have read need not be kept.
    if (Site* const left = refusal ? table_.find(member.address) : nullptr)
        (void)keep_what_is_read(*left, nullptr);
    djk_unpin_target(member.address);
    return refusal;
}

bool Sites::link(Site& site, Member& member) {
    if (!is_live(site.state)) return false;
    site.note_member(nullptr, &member);
    djk_handler_start(member.handler);
    add(site, member.handler);
    stop_joining(site);
    // An armed site works: at worst it stays armed, or the list serves its handlers.
    if (site.joining)
        (void)settle(site);
    else
        (void)reshape_or_later(site);
    return true;
}

void Sites::take_back(Site& site, const Member& member, SiteList& empty) {
    site.int3_probes -= member.int3_only;
    stop_joining(site);
    let_go(site, empty);
}

void Sites::unlink(Site& site, const Member& member, SiteList& empty) {
    remove(site, member.handler);
    site.note_member(&member, nullptr);
    djk_handler_stop(member.handler);
    site.int3_probes -= member.int3_only;
    let_go(site, empty);
}

/// A member has left. The site goes to `empty` if its text must be given back now.
void Sites::let_go(Site& site, SiteList& empty) {
    // At worst others keep more than they must.
    if (site.state != State::Gone) (void)keep_what_is_read(site, nullptr);
    if (site.state == State::Gone) {
        if (site.is_abandoned()) reclaimer_.add(site);
    } else if (!site.is_abandoned()) {
        reshape_without(site);
        (void)settle(site);
    } else if (site.state == State::Disarmed) {
        // A hit elsewhere may walk through the table: the site keeps its links.
        table_.remove(site);
        // Sites nearby were settled while this one was still in their way.
        settle_near(site.region());
        reclaimer_.add(site);
    } else {
        empty.add(site);
    }
}

}  // namespace djprobe::kmod
