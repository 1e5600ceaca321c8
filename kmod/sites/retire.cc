// SPDX-License-Identifier: GPL-2.0
// Any state -> Disarmed or Gone: sites leave the text and the table.
#include "patched_text.h"
#include "picked.h"
#include "sites.h"
#include "text_checks.h"

namespace djprobe::kmod {

/// A detour that hits still reach must not do the work of a handler that has left. From a list of
/// handlers it is gone; what the detour holds stays in the code, so an int3 leads past that, to the
/// list.
void Sites::bypass_held(KernelText& text, Site& site) {
    if (!site.code.shape.holds() || site.bypassed) return;
    site.bypass.site = &site.hit;
    site.bypass.address = site.code.slot.address() + site.code.layout.call;
    site.bypass.resume = site.displaced();
    // The int3 and its trap stay as long as the detour: a task that was preempted right before the
    // int3 must still find the trap.
    table_.insert(site.bypass);
    site.bypassed = true;
    text.write(site.bypass.address, {&x86::kInt3, 1});
    text.sync_cores();
}

/// Any state -> Disarmed, for sites without probes, which leave the table. A site that another
/// patcher has written over stays as it is, without handlers. The optimizer tries again; until it
/// succeeds the module must stay.
void Sites::retire(SiteList& sites) {
    if (!sites.first()) return;
    SiteList leaving;
    {
        KernelText text;
        while (Site* site = sites.take_first()) {
            djk_breathe();
            if (!check_written(text, *site)) {
                leaving.add(*site);
                continue;
            }
            site->keep_module();
            bypass_held(text, *site);
            djk_optimizer_kick_later();
        }
        back_to_int3(text, leaving);
        x86::disarm(text, breakpoints(leaving));
        for (Site& site : leaving) {
            hide_patch(text, site);
            // Its springboard is taken out later. A kprobe may prevent that: keep the module now.
            if (site.board_entry && find_kprobe(site.board())) site.keep_module();
        }
    }
    for (Site& site : leaving)
        leave_seat(site);
    // Every CPU has synchronized since the last int3 was there: no hit looks for the site any more.
    for (Site& site : leaving) {
        set_state(site, State::Disarmed);
        table_.remove(site);
    }
    while (Site* site = leaving.take_first()) {
        djk_breathe();
        settle_near(site->region());
        // It is in the text a little longer: who wants these bytes tries again until it has gone.
        settle_near(site->planned_board());
        if (!site->board_entry) site->let_module_go();
        // This kicks the optimizer. A site that stays must not: the optimizer calls this function
        // itself, and would never rest.
        reclaimer_.add(*site);
    }
}

/// Any state -> Gone, in text that the kernel is about to free. Until then it may still run the
/// text, for a module's parameter or asynchronous function: so the sites leave it, except where
/// another patcher has written over them.
void Sites::leave_text(SiteList& sites) {
    SiteList leaving, others;
    {
        KernelText port;
        while (Site* site = sites.take_first()) {
            if (is_live(site->state) && !check_written(port, *site)) {
                leaving.add(*site);
                continue;
            }
            // Its probes may be detached, and their handlers freed, before the kernel frees the
            // text.
            bypass_held(port, *site);
            others.add(*site);
        }
        back_to_int3(port, leaving);
        x86::disarm(port, breakpoints(leaving));
        // Those that another patcher keeps, too: nothing is written there any more.
        const SiteList* const both[] = {&leaving, &others};
        for (const SiteList* list : both)
            for (Site& site : *list) {
                hide_patch(port, site);
                hide_board(port, site);
            }
    }
    SiteList* const lists[] = {&leaving, &others};
    for (SiteList* list : lists)
        while (Site* site = list->take_first()) {
            leave_seat(*site);
            set_state(*site, State::Gone);
            // Other text may come to lie there.
            forget_reader(*site);
            site->board_entry = 0;
            table_.remove(*site);
            site->let_module_go();
            // A request that is about to attach there finds the site gone.
            if (site->is_abandoned()) reclaimer_.add(*site);
        }
}

void Sites::forget(Range text, Portions& portions) {
    for_each_site(
        portions, [&](const Site& site) { return text.contains(site.address()); },
        [&](SiteList& some) { leave_text(some); });
    reclaimer_.forget_boards(text);
    forget_kprobes(portions,
                   [&](const Readers::Reader& reader) { return text.contains(reader.site); });
}

}  // namespace djprobe::kmod
