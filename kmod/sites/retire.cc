// SPDX-License-Identifier: GPL-2.0
// Any state -> Disarmed or Gone: out of the text and out of the table.
#include "patched_text.h"
#include "picked.h"
#include "sites.h"
#include "text_checks.h"

namespace djprobe::kmod {

/// A detour that cannot be taken out of reach must not call a program that has left: unlike a list
/// of handlers, a direct call is there for good.
void Sites::bypass_call(KernelText& text, Site& site) {
    if (!site.code.shape.direct || site.bypassed) return;
    site.bypass.address = site.code.slot.address() + site.code.layout.call;
    site.bypass.resume = site.displaced();
    // The int3 stays as long as the detour, and so does its trap: a task that was preempted right
    // before it must still find that.
    table_.insert(site.bypass);
    site.bypassed = true;
    text.write(site.bypass.address, {&x86::kInt3, 1});
    text.sync_cores();
}

/// Sites without probes, any state -> Disarmed, and out of the table. When somebody else has
/// patched on top of us, a site stays as it is, without handlers, and the optimizer tries again;
/// until then the module must stay.
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
    // Every CPU has synchronized since the last int3 was there: no hit is looking for the site.
    for (Site& site : leaving) {
        set_state(site, State::Disarmed);
        table_.remove(site);
    }
    while (Site* site = leaving.take_first()) {
        djk_breathe();
        settle_near(site->region());
        if (!site->written_board.length) site->let_module_go();
        // Not for those that stay: the optimizer, which asks here itself, would never rest.
        reclaimer_.add(*site);
    }
}

/// Out of text that is about to be freed, as far as nobody else has patched it: until it is, the
/// kernel may still run it, for a module's parameter or asynchronous function.
void Sites::leave_text(SiteList& sites) {
    SiteList leaving, others;
    {
        KernelText port;
        while (Site* site = sites.take_first()) {
            if (is_live(site->state) && !check_written(port, *site)) {
                leaving.add(*site);
                continue;
            }
            // Its probes may be detached, and their handlers freed, before the text is.
            bypass_call(port, *site);
            others.add(*site);
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
    SiteList* const lists[] = {&leaving, &others};
    for (SiteList* list : lists)
        while (Site* site = list->take_first()) {
            leave_seat(*site);
            set_state(*site, State::Gone);
            site->written_board = {};
            table_.remove(*site);
            site->let_module_go();
            // Who is about to attach there finds it gone.
            if (site->is_abandoned()) reclaimer_.add(*site);
        }
}

void Sites::forget(Range text, Portions& portions) {
    for_each_site(
        portions, [&](const Site& site) { return text.contains(site.address()); },
        [&](SiteList& some) { leave_text(some); });
    reclaimer_.forget_boards(text);
}

}  // namespace djprobe::kmod
