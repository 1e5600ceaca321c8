// SPDX-License-Identifier: GPL-2.0
// The optimizer: jumps for all sites that wait for one, and the end of what was detached, both
// behind one quiescence.
#include "transition.h"

namespace djprobe::kmod {

/// Before the wait: from now on who comes by continues behind the region, so that after it nobody
/// stands inside.
bool Registry::prepare_batch() {
    KernelText text;
    bool any = false;
    SiteList slides;
    for (Site* site = sites_.first(); site; site = site->next) {
        if (site->state != State::Optimizing) continue;
        if (const Refusal changed = check_site_text(text, *site)) {
            give_up(*site, changed);
            continue;
        }
        set_resume(*site, site->displaced());
        site->quiescence = Quiescence::Running;
        any = true;
        if (!site->slides()) continue;
        sites_.insert(site->anchor);
        site->anchor_armed = true;
        slides.add(*site);
    }
    // Those who reach a slide's anchor go through the detour from here on, the IA included.
    x86::arm(text, jumps(slides));
    return any;
}

/// After the wait: Optimizing -> Optimized for all that were there before it.
void Registry::finish_batch() {
    KernelText text;
    SiteList ready, changed;
    for (Site* site = sites_.first(); site; site = site->next) {
        if (site->quiescence != Quiescence::Running) continue;
        site->quiescence = Quiescence::Wanted;
        if (site->state != State::Optimizing) continue;
        Refusal refusal = check_site_text(text, *site);
        if (!refusal && site->board.length && !site->board_written)
            refusal = check_text(text, site->board, TextForm::Original);
        if (refusal) {
            site->hold = refusal;
            changed.add(*site);
            continue;
        }
        if (site->board.length && !site->board_written) x86::write_board(text, site->board);
        site->board_written = site->board.length != 0;
        ready.add(*site);
    }
    back_to_int3(text, changed);
    for (Site& site : changed)
        give_up(site, site.hold);
    x86::optimize(text, jumps(ready));
    for (Site& site : ready)
        set_state(site, State::Optimized);
}

void Registry::optimize() {
    Garbage old;
    bool waiting;
    {
        RegistryLock lock;
        SiteList abandoned;
        for (Site* site = sites_.first(); site; site = site->next)
            if (!site->has_probes()) abandoned.add(*site);
        retire(abandoned);
        waiting = prepare_batch();
        old = garbage_.take();
    }
    if (!waiting && old.empty()) return;
    djk_quiesce();
    {
        RegistryLock lock;
        if (waiting) finish_batch();
        old.free();
    }
    djk_optimizer_done();
}

}  // namespace djprobe::kmod
