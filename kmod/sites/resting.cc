// SPDX-License-Identifier: GPL-2.0
// A site comes to rest and wakes up: the text, the detour and the handler stay as they are. What
// goes, and is made again, is what only a change or another site nearby needs.
#include "../facts/kernel_text.h"
#include "patched_text.h"
#include "sites.h"

namespace djprobe::kmod {
namespace {

/// A member is found by what is left of its site.
static_assert(__builtin_offsetof(Member, resting) == 0);

/// The jump is there to stay, and no hit reads the site: its detour does all the work.
bool is_quiet(const Site& site) {
    const bool is_alone = site.has_only_member() && !site.joining;
    const Shape& shape = site.code.shape;
    return site.state == State::Optimized && is_alone && !site.hold && !site.int3_probes &&
           !site.is_reader && !site.bypassed && !site.holds_module && shape.holds() &&
           site.hit.handlers->counter && RestingSite::fits(site.plan) &&
           RestingSite::fits(site.code);
}

bool has_anything_to_tell(const Away& away) {
    return away.refused || away.since || away.missed_in_kprobe;
}

}  // namespace

/// No site that is awake may have to know about one that rests: of two that want the same bytes
/// both stay awake.
bool Sites::may_rest(const Site& site) {
    // All jumps are about to go: set_optimization().
    if (!optimization_) return false;
    if (!is_quiet(site) || has_anything_to_tell(site.only_member().away)) return false;
    // A module's text goes with the module.
    if (!core_text().contains(site.address())) return false;
    bool is_close = false;
    table_.for_each_near(site.region(), [&](const Site& other) {
        is_close |= &other != &site && (other.region().overlaps(site.region()) ||
                                        other.planned_board().overlaps(site.region()));
    });
    return !is_close && wanted_shape(site, nullptr) == site.code.shape;
}

void Sites::rest(SiteList& sites) {
    {
        KernelText text;
        for (Site& site : sites) {
            Member& member = site.only_member();
            hide_patch(text, site);
            set_site(member, nullptr);
            member.rests = true;
            (new (&member.resting) RestingSite())->keep(site.plan, site.live, site.code);
            member.resting.keep_slot(site.code.slot.release());
            show_patch(text, member.resting);
        }
    }
    while (Site* const site = sites.take_first()) {
        table_.remove(*site);
        table_.insert_resting(site->only_member());
        // A hit may still be in code that the site had before, which knows the site.
        reclaimer_.add(*site);
    }
}

void Sites::rest_all(Portions& portions) {
    for_each_site(
        portions, [&](const Site& site) { return may_rest(site); },
        [&](SiteList& some) { rest(some); });
}

/// Make the site of a member again; it is nowhere yet.
void Sites::begin_waking(Member& member, Box<Site>&& fresh, SiteList& waking) {
    djk_breathe();
    Site& site = *fresh.release();
    const RestingSite& resting = member.resting;
    site.hit.trap.address = member.address;
    site.hit.handlers = member.handler;
    site.plan = resting.plan();
    site.live = resting.live;
    site.state = State::Optimized;
    site.code.shape.hold({&member.handler, 1});
    site.code.shape.kept = resting.kept;
    site.code.layout = resting.detour();
    site.code.slot = resting.slot();
    site.note_member(nullptr, &member);
    lead_to_code(site);
    set_resume(site, site.displaced());
    waking.add(site);
}

void Sites::finish_waking(SiteList& waking) {
    if (!waking.first()) return;
    {
        KernelText text;
        for (Site& site : waking) {
            Member& member = site.only_member();
            hide_patch(text, member.resting);
            table_.remove_resting(member);
            new (&member.away) Away();
            member.rests = false;
            show_patch(text, site);
            update_patch(text, site);
        }
    }
    while (Site* const site = waking.take_first()) {
        table_.insert(*site);
        site->anchor_armed = site->slides();
        if (site->anchor_armed) table_.insert(site->anchor);
        set_site(site->only_member(), site);
    }
}

void Sites::wake(size_t count, FunctionRef<Member&(size_t)> member_at) {
    SiteList waking;
    for (size_t i = 0; i < count; ++i)
        if (Member& member = member_at(i); member.rests)
            begin_waking(member, Box<Site>::insist(Stay::Short), waking);
    finish_waking(waking);
}

/// All that have a byte of `range` in their regions. They may rest again soon.
void Sites::wake_in(Range range) {
    SiteList waking;
    table_.for_each_resting(range, [&](Member& member) {
        begin_waking(member, Box<Site>::insist(Stay::Short), waking);
    });
    if (waking.first()) djk_optimizer_kick();
    finish_waking(waking);
}

/// False: there is no memory for all of them at once, short of letting the kernel kill a task.
bool Sites::wake_all(Portions& portions) {
    size_t line = 0;
    for (bool is_enough = true;; portions.pause()) {
        SiteList waking;
        size_t left = portions.size();
        table_.for_resting_from(line, [&](Member& member) {
            Box<Site> site = Box<Site>::attempt(Stay::Short);
            is_enough = static_cast<bool>(site);
            if (is_enough) begin_waking(member, static_cast<Box<Site>&&>(site), waking);
            return is_enough && --left > 0;
        });
        const bool any = waking.first();
        finish_waking(waking);
        if (!any || !is_enough) return is_enough;
    }
}

/// The site whose IA this is, or nullptr.
Site* Sites::find_awake(u64 address) {
    if (const Member* const resting = table_.find_resting(address))
        wake_in(resting->resting.region());
    return table_.find(address);
}

}  // namespace djprobe::kmod
