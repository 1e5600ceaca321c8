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
    }
    // Those who reach a slide's anchor go through the detour from here on, the IA included.
    const auto slides = [](const Site& site) {
        return site.quiescence == Quiescence::Running && site.slides() ? &site.jump : nullptr;
    };
    x86::arm(text, Picked(sites_.first(), slides));
    return any;
}

/// After the wait: Optimizing -> Optimized for all that were there before it.
void Registry::finish_batch() {
    KernelText text;
    for (Site* site = sites_.first(); site; site = site->next) {
        if (site->quiescence != Quiescence::Running) continue;
        site->quiescence = Quiescence::Wanted;
        if (site->state != State::Optimizing) continue;
        Refusal changed = check_site_text(text, *site);
        if (!changed && site->board.length && !site->board_written)
            changed = check_text(text, site->board, TextForm::Original);
        if (changed) {
            back_to_int3(text, *site);
            give_up(*site, changed);
            continue;
        }
        if (site->board.length && !site->board_written) x86::write_board(text, site->board);
        site->board_written = site->board.length != 0;
        site->quiescence = Quiescence::Reached;
    }
    const auto ready = [](const Site& site) {
        return site.quiescence == Quiescence::Reached ? &site.jump : nullptr;
    };
    x86::optimize(text, Picked(sites_.first(), ready));
    for (Site* site = sites_.first(); site; site = site->next) {
        if (!ready(*site)) continue;
        site->quiescence = Quiescence::Wanted;
        set_state(*site, State::Optimized);
    }
}

void Registry::optimize() {
    Garbage old;
    bool waiting;
    {
        RegistryLock lock;
        for (Site* site = sites_.first(); site;) {
            Site* next = site->next;
            if (!site->has_probes()) retire(*site);
            site = next;
        }
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
