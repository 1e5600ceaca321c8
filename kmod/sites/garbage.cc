// SPDX-License-Identifier: GPL-2.0
#include "garbage.h"

#include "transition.h"

namespace djprobe::kmod {
namespace {

/// Nobody can be on the springboard any more. False: somebody else has patched it.
bool restore_board(Site& site, SiteTable& sites) {
    if (!site.written_board.length) return true;
    KernelText text;
    // A kprobe that is not in the text would bring back what it found there.
    if (find_kprobe(site.board()) || check_text(text, site.written_board, TextForm::Jump))
        return false;
    x86::restore_board(text, site.written_board);
    text.sync_cores();
    hide_board(text, site);
    sites.forget_board(site);
    return true;
}

bool is_near(const Site& site, u64 address) {
    const Range reach = {address - 2 * x86::kTacticReach, address + 2 * x86::kTacticReach};
    return reach.contains(site.address());
}

}  // namespace

void Garbage::add(Site* site) {
    // Every attach looks at those with boards: the others may be many.
    Site*& list = site->written_board.length ? boards_ : sites_;
    site->next = list;
    list = site;
}

void Garbage::add(djp_probe* probe) {
    probe->next = probes_;
    probes_ = probe;
}

void Garbage::add(OldSlot* slot) {
    slot->next = slots_;
    slots_ = slot;
}

bool Garbage::has_board_near(u64 address, const QuiescenceClock& clock) const {
    for (const Site* site = boards_; site; site = site->next)
        if (site->written_board.length && !clock.has_passed(site->left) && is_near(*site, address))
            return true;
    return false;
}

void Garbage::restore_boards_near(u64 address, const QuiescenceClock& clock, SiteTable& sites) {
    for (Site* site = boards_; site; site = site->next)
        if (clock.has_passed(site->left) && is_near(*site, address) && !restore_board(*site, sites))
            site->keep_module();
}

void Garbage::forget_boards(KernelText& text, Range gone, SiteTable& sites) {
    for (Site* site = boards_; site; site = site->next) {
        if (!gone.contains(site->address())) continue;
        hide_board(text, *site);
        sites.forget_board(*site);
    }
}

Garbage Garbage::take() {
    const Garbage taken = *this;
    *this = Garbage{};
    return taken;
}

bool Garbage::free_one(Garbage& stuck, SiteTable& sites) {
    if (djp_probe* probe = probes_) {
        probes_ = probe->next;
        djk_handler_destroy(probe->handler);
        Box<djp_probe>::adopt(probe).reset();
        return true;
    }
    if (OldSlot* slot = slots_) {
        slots_ = slot->next;
        Box<OldSlot>::adopt(slot).reset();
        return true;
    }
    Site*& list = sites_ ? sites_ : boards_;
    Site* const site = list;
    if (!site) return false;
    list = site->next;
    if (restore_board(*site, sites)) {
        site->let_module_go();
        Box<Site>::adopt(site).reset();
    } else {
        site->keep_module();
        stuck.add(site);
    }
    return true;
}

bool Garbage::free(size_t most, Garbage& stuck, SiteTable& sites) {
    for (; most > 0 && free_one(stuck, sites); --most)
        djk_breathe();
    return !empty();
}

void Garbage::abandon(SiteTable& sites) {
    while (Site* site = boards_) {
        boards_ = site->next;
        djk_warn("a springboard stays here under a kprobe; nothing leads to it any more",
                 site->board().begin);
        {
            KernelText text;
            hide_board(text, *site);
        }
        sites.forget_board(*site);
        site->let_module_go();
        Box<Site>::adopt(site).reset();
    }
}

}  // namespace djprobe::kmod
