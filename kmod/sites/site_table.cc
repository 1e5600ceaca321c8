// SPDX-License-Identifier: GPL-2.0
#include "site_table.h"

#include "../facts/function_copy.h"

constinit djk_trap* djp_traps[DJK_TRAP_BUCKETS] = {};

namespace djprobe::kmod {

Site* SiteTable::find(u64 address) const {
    static_assert(__builtin_offsetof(Site, hit) == 0);
    // A slide's anchor may be there, too: it is the IA of no site.
    for (const djk_trap* trap = *djk_trap_bucket(address); trap; trap = trap->next)
        if (trap->address == address && trap->site) return reinterpret_cast<Site*>(trap->site);
    return nullptr;
}

void SiteTable::insert(djk_trap& trap) {
    // Before all others: a request may be about to arm a site at a slide's anchor. Hits must find
    // the anchor first, since the trap of that site resumes inside the slide's region.
    djk_trap** const bucket = djk_trap_bucket(trap.address);
    trap.next = *bucket;
    __atomic_store_n(bucket, &trap, __ATOMIC_RELEASE);
}

void SiteTable::remove(djk_trap& trap) {
    djk_trap** link = djk_trap_bucket(trap.address);
    while (*link != &trap)
        link = &(*link)->next;
    // The removed trap keeps its own link: a hit that stands on it goes on.
    __atomic_store_n(link, trap.next, __ATOMIC_RELEASE);
}

void SiteTable::insert(Site& site) {
    // Behind all others, for the same reason.
    djk_trap** link = djk_trap_bucket(site.address());
    while (*link)
        link = &(*link)->next;
    site.hit.trap.next = nullptr;
    __atomic_store_n(link, &site.hit.trap, __ATOMIC_RELEASE);
    list_.add(site);
    near_.enter(site);
}

void SiteTable::remove(Site& site) {
    remove(site.hit.trap);
    if (site.anchor_armed) remove(site.anchor);
    list_.remove(site);
    if (site.board_entry)
        site.only_board = true;
    else
        near_.leave(site);
}

void SiteTable::forget_board(Site& site) {
    site.board_entry = 0;
    if (!site.only_board) return;
    site.only_board = false;
    near_.leave(site);
}

void SiteTable::restore(FunctionCopy& copy) const {
    const Range range = copy.code().range();
    const auto recover_board = [&](const Site& site) {
        if (site.board_entry) copy.overwrite(site.plan.board, site.plan.board_bytes);
    };
    for_each_board_left(range, recover_board);
    for_each_near(range, [&](const Site& site) {
        if (site.state == State::Disarmed) return;
        const KeptPlan& plan = site.plan;
        if (plan.may_jump()) copy.overwrite(plan.anchor, {plan.region.bytes, plan.region.length});
        copy.overwrite(plan.site, {plan.first_bytes, 1});
        recover_board(site);
    });
    for_each_resting(range, [&](const Member& member) {
        copy.overwrite(member.resting.region().begin, member.resting.original());
    });
}

void SiteTable::for_each_board(Range range, FunctionRef<void(Range)> use) const {
    // A springboard belongs to its site until the site's detour is freed.
    for_each_near(range, [&](const Site& site) {
        if (site.plan.board) use({site.plan.board, site.plan.board + x86::kJumpLength});
    });
    // The springboard of a removed site is taken out before a plan is carried out, unless another
    // patcher has written into it.
    for_each_board_left(range, [&](const Site& site) {
        if (site.holds_module) use(site.board());
    });
}

void SiteTable::for_each_displaced(Range text, FunctionRef<void(const x86::Insn&)> use) const {
    // Sites that rest are in the core kernel's text, and `text` is a module's.
    for (const Site* site = first(); site; site = site->next) {
        if (!site->plan.region.leads || !text.contains(site->address())) continue;
        const x86::Plan plan = site->plan.expand();
        for (const x86::Insn& insn : plan.region.all())
            use(insn);
    }
}

}  // namespace djprobe::kmod
