// SPDX-License-Identifier: GPL-2.0
// The optimizer: jumps for all sites that wait for one, and the end of what was detached, both
// behind one quiescence.
#include "transition.h"

namespace djprobe::kmod {

/// The region is not what it was: int3 for now. What is in the way, a kprobe or a byte of some
/// other patcher's, may leave, so the optimizer tries again.
void Registry::give_up(Site& site, const Refusal& changed) {
    site.hold = Refusal{Reason::TEXT_CHANGED, changed.detail[0]};
    set_state(site, State::Armed);
    obstructed_ = true;
    djk_optimizer_kick_later();
}

/// Another try for those that gave up, in the batch that is about to be prepared: to ask for one
/// more run now would be to ask again and again while the obstacle stays.
void Registry::retry_obstructed(Portions& portions) {
    if (!obstructed_) return;
    obstructed_ = false;
    for_each_site(
        portions, [](const Site& site) { return site.is_obstructed(); },
        [&](SiteList& some) {
            while (Site* site = some.take_first()) {
                site->hold = hold_reason(*site);
                if (site->hold || !site->has_probes()) continue;
                set_state(*site, State::Optimizing);
                site->quiescence = Quiescence::Wanted;
            }
        });
}

/// Before the wait: from now on who comes by continues behind the region, so that after it nobody
/// stands inside.
bool Registry::prepare_batch(Portions& portions) {
    bool any = false;
    for_each_site(
        portions, [](const Site& site) { return site.state == State::Optimizing; },
        [&](SiteList& some) {
            prepare(some);
            any = true;
        });
    return any;
}

void Registry::prepare(SiteList& waiting) {
    KernelText text;
    SiteList slides;
    while (Site* site = waiting.take_first()) {
        djk_breathe();
        if (const Refusal changed = check_to_optimize(text, *site)) {
            give_up(*site, changed);
            continue;
        }
        set_resume(*site, site->displaced());
        site->quiescence = Quiescence::Running;
        update_patch(text, *site);
        if (site->slides()) slides.add(*site);
    }
    // A hit may still stand on an anchor's link that has been in the table before.
    if (slides.first()) text.sync_cores();
    for (Site& site : slides) {
        sites_.insert(site.anchor);
        site.anchor_armed = true;
    }
    // Those who reach a slide's anchor go through the detour from here on, the IA included.
    x86::arm(text, jumps(slides));
}

/// After the wait: Optimizing -> Optimized for all that were there before it.
void Registry::finish_batch(Portions& portions) {
    const auto pick = [](Site& site) {
        const bool waited = site.quiescence == Quiescence::Running;
        site.quiescence = Quiescence::Wanted;
        return waited && site.state == State::Optimizing;
    };
    for_each_site(portions, pick, [&](SiteList& some) { finish(some); });
}

void Registry::finish(SiteList& waiting) {
    KernelText text;
    SiteList ready, changed;
    while (Site* site = waiting.take_first()) {
        djk_breathe();
        const x86::PatchSite& board = site->code.board;
        if (const Refusal refusal = check_to_optimize(text, *site)) {
            site->hold = refusal;
            changed.add(*site);
            continue;
        }
        // An older one leads to code that has been replaced; nobody has been on it since.
        if (board.length) x86::write_board(text, board);
        site->written_board = board;
        ready.add(*site);
    }
    back_to_int3(text, changed);
    for (Site& site : changed) {
        give_up(site, site.hold);
        just_failed_ = true;
    }
    x86::optimize(text, jumps(ready));
    for (Site& site : ready) {
        set_state(site, State::Optimized);
        update_patch(text, site);
    }
}

void Registry::optimize() {
    RegistryLock lock;
    Portions portions;
    for_each_site(
        portions, [](const Site& site) { return site.is_abandoned(); },
        [&](SiteList& some) { retire(some); });
    const auto settle_all = [&](SiteList& some) {
        while (Site* site = some.take_first())
            (void)settle(*site);
    };
    const bool unsettled = unsettled_;
    unsettled_ = false;
    if (unsettled)
        for_each_site(
            portions, [](const Site& site) { return site.has_probes(); }, settle_all);
    // A second later: the run that follows a failed try at once would fail again.
    const bool failed = just_failed_;
    just_failed_ = false;
    if (obstructed_ && failed)
        djk_optimizer_kick_later();
    else
        retry_obstructed(portions);
    const bool waiting = prepare_batch(portions);
    Garbage again = stuck_.take();
    again.free_all(stuck_, sites_);
    freeing_ = garbage_.take();
    if (waiting || !freeing_.empty()) {
        quiesce();
        if (waiting) finish_batch(portions);
        while (freeing_.free(portions.size(), stuck_, sites_))
            portions.pause();
    }
    if (!stuck_.empty()) djk_optimizer_kick_later();
    // Always: what somebody waits for may have been decided without a batch.
    djk_optimizer_done();
}

}  // namespace djprobe::kmod
