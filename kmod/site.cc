// SPDX-License-Identifier: GPL-2.0
#include "site.h"

constinit djk_trap* djp_traps[DJK_TRAP_BUCKETS] = {};

namespace djprobe::kmod {

Site* SiteTable::find(u64 address) const {
    static_assert(__builtin_offsetof(Site, hit) == 0);
    // A slide's anchor may be there, too, which is nobody's IA.
    for (const djk_trap* trap = *djk_trap_bucket(address); trap; trap = trap->next)
        if (trap->address == address && trap->site) return reinterpret_cast<Site*>(trap->site);
    return nullptr;
}

void SiteTable::insert(djk_trap& trap) {
    // Before all others: a slide's anchor is found also where a group is about to arm a site of its
    // own, whose way on leads into the slide's region.
    djk_trap** const bucket = djk_trap_bucket(trap.address);
    trap.next = *bucket;
    __atomic_store_n(bucket, &trap, __ATOMIC_RELEASE);
}

void SiteTable::remove(djk_trap& trap) {
    djk_trap** link = djk_trap_bucket(trap.address);
    while (*link != &trap)
        link = &(*link)->next;
    // The removed trap keeps its own link: a reader that stands on it goes on.
    __atomic_store_n(link, trap.next, __ATOMIC_RELEASE);
}

void SiteTable::insert(Site& site) {
    // Behind all others: as above.
    djk_trap** link = djk_trap_bucket(site.address());
    while (*link)
        link = &(*link)->next;
    site.trap.next = nullptr;
    __atomic_store_n(link, &site.trap, __ATOMIC_RELEASE);
    list_.add(site);
    Site*& near = lines_[line(site.address()) % kLines];
    site.next_near = near;
    near = &site;
}

void SiteTable::remove(Site& site) {
    remove(site.trap);
    if (site.anchor_armed) remove(site.anchor);
    if (site.bypassed) remove(site.bypass);
    list_.remove(site);
    if (site.written_board.length)
        site.only_board = true;
    else
        leave_line(site);
}

void SiteTable::forget_board(Site& site) {
    site.written_board = {};
    if (!site.only_board) return;
    site.only_board = false;
    leave_line(site);
}

void SiteTable::leave_line(Site& site) {
    Site** link = &lines_[line(site.address()) % kLines];
    while (*link != &site)
        link = &(*link)->next_near;
    *link = site.next_near;
}

}  // namespace djprobe::kmod
