// SPDX-License-Identifier: GPL-2.0
// The optimizer gives their jump to all sites that wait for one, and frees what was detached. One
// quiescence serves both.
#include "patched_text.h"
#include "picked.h"
#include "sites.h"
#include "text_checks.h"

namespace djprobe::kmod {

/// The region is not what it was: the site stays at int3. What is in the way, a kprobe or a byte of
/// another patcher, may leave, so the optimizer tries again.
void Sites::give_up(Site& site, const Refusal& changed) {
    site.hold = Refusal{Reason::TEXT_CHANGED, changed.detail[0]};
    set_state(site, State::Armed);
    obstructed_ = true;
    djk_optimizer_kick_later();
}

/// Let the sites that gave up try again in the batch that is about to be prepared. Each of them
/// must not ask for one more run: it would ask again and again while the obstacle stays.
void Sites::retry_obstructed(Portions& portions) {
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

/// Before the wait: from here on every hit continues behind the region, so that after the wait no
/// task stands inside.
bool Sites::prepare_batch(Portions& portions) {
    bool any = false;
    for_each_site(
        portions, [](const Site& site) { return site.state == State::Optimizing; },
        [&](SiteList& some) {
            prepare(some);
            any = true;
        });
    return any;
}

void Sites::prepare(SiteList& waiting) {
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
    // A hit may still stand on the link of an anchor that was in the table before.
    if (slides.first()) text.sync_cores();
    for (Site& site : slides) {
        table_.insert(site.anchor);
        site.anchor_armed = true;
    }
    // From here on a CPU that reaches a slide's anchor runs the detour, the IA included.
    x86::arm(text, jumps(slides));
}

/// After the wait: Optimizing -> Optimized for all sites that were prepared before it.
void Sites::finish_batch(Portions& portions) {
    const auto pick = [](Site& site) {
        const bool waited = site.quiescence == Quiescence::Running;
        site.quiescence = Quiescence::Wanted;
        return waited && site.state == State::Optimizing;
    };
    for_each_site(portions, pick, [&](SiteList& some) { finish(some); });
}

void Sites::finish(SiteList& waiting) {
    KernelText text;
    SiteList ready, changed;
    while (Site* site = waiting.take_first()) {
        djk_breathe();
        if (const Refusal refusal = check_to_optimize(text, *site)) {
            site->hold = refusal;
            changed.add(*site);
            continue;
        }
        // An older springboard leads to code that was replaced; no CPU has been on it since.
        site->board_entry = site->has_board() ? site->code.entry() : 0;
        if (site->board_entry) x86::write_board(text, site->written_board());
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

void Sites::optimize(Portions& portions) {
    for_each_site(
        portions, [](const Site& site) { return site.is_abandoned(); },
        [&](SiteList& some) { retire(some); });
    forget_kprobes(portions);
    reshape_left(portions);
    const auto settle_all = [&](SiteList& some) {
        while (Site* site = some.take_first())
            (void)settle(*site);
    };
    const bool unsettled = unsettled_;
    unsettled_ = false;
    if (unsettled)
        for_each_site(
            portions, [](const Site& site) { return site.has_probes(); }, settle_all);
    // Try again a second later: a run right after a failed try would fail again.
    const bool failed = just_failed_;
    just_failed_ = false;
    if (obstructed_ && failed)
        djk_optimizer_kick_later();
    else
        retry_obstructed(portions);
    const bool waiting = prepare_batch(portions);
    const bool garbage = reclaimer_.begin_round();
    if (waiting || garbage) {
        reclaimer_.quiesce();
        if (waiting) finish_batch(portions);
        while (reclaimer_.free_some(portions.size()))
            portions.pause();
    }
    if (reclaimer_.has_stuck()) djk_optimizer_kick_later();
    // Wake the waiting tasks in any case: sites may have been decided about without a batch.
    djk_optimizer_done();
    rest_all(portions);
}

bool Sites::set_optimization(bool optimization, Portions& portions) {
    if (!optimization && !djk_may_take(DJK_SITES, table_.count_resting())) return false;
    optimization_ = optimization;
    // While others had the lock the memory may have gone.
    if (!optimization && !wake_all(portions)) {
        optimization_ = true;
        // Sites that came meanwhile are held.
        unsettled_ = true;
        djk_optimizer_kick();
        return false;
    }
    for_each_site(
        portions, [](Site&) { return true; },
        [&](SiteList& some) {
            SiteList jumping, others;
            {
                KernelText text;
                while (Site* site = some.take_first()) {
                    const bool leaves =
                        !optimization && site->wants_jump() && !check_written(text, *site);
                    (leaves ? jumping : others).add(*site);
                }
                back_to_int3(text, jumping);
            }
            SiteList* const lists[] = {&jumping, &others};
            for (SiteList* list : lists)
                while (Site* site = list->take_first())
                    (void)settle(*site);
        });
    return true;
}

}  // namespace djprobe::kmod
