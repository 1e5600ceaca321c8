// SPDX-License-Identifier: GPL-2.0
#include "garbage.h"

#include "transition.h"

namespace djprobe::kmod {
namespace {

/// Nobody can be on the springboard any more. False: somebody else has patched it.
bool restore_board(Site& site) {
    if (!site.written_board.length) return true;
    KernelText text;
    // A kprobe that is not in the text would bring back what it found there.
    if (find_kprobe(site.board()) || check_text(text, site.written_board, TextForm::Jump))
        return false;
    x86::restore_board(text, site.written_board);
    text.sync_cores();
    hide_board(text, site);
    site.written_board = {};
    return true;
}

bool is_near(const Site& site, u64 address) {
    const Range reach = {address - 2 * x86::kTacticReach, address + 2 * x86::kTacticReach};
    return reach.contains(site.address());
}

}  // namespace

void Garbage::add(Site* site) {
    site->next = sites_;
    sites_ = site;
}

void Garbage::add(djp_probe* probe) {
    probe->next = probes_;
    probes_ = probe;
}

void Garbage::add(OldSlot* slot) {
    slot->next = slots_;
    slots_ = slot;
}

bool Garbage::has_board_near(u64 address) const {
    for (const Site* site = sites_; site; site = site->next)
        if (site->written_board.length && is_near(*site, address)) return true;
    return false;
}

void Garbage::restore_boards_near(u64 address) {
    for (Site* site = sites_; site; site = site->next)
        if (is_near(*site, address)) (void)restore_board(*site);
}

bool Garbage::has_board_in(Range text) const {
    for (const Site* site = sites_; site; site = site->next)
        if (site->written_board.length && site->board().overlaps(text)) return true;
    return false;
}

void Garbage::forget_boards(KernelText& text, Range gone) {
    for (Site* site = sites_; site; site = site->next) {
        if (!gone.contains(site->address())) continue;
        hide_board(text, *site);
        site->written_board = {};
    }
}

Garbage Garbage::take() {
    const Garbage taken = *this;
    *this = Garbage{};
    return taken;
}

void Garbage::free(Garbage& stuck) {
    while (djp_probe* probe = probes_) {
        probes_ = probe->next;
        djk_probe_destroy(probe->handler);
        djk_breathe();
        Box<djp_probe>::adopt(probe).reset();
    }
    while (OldSlot* slot = slots_) {
        slots_ = slot->next;
        Box<OldSlot>::adopt(slot).reset();
    }
    while (Site* site = sites_) {
        sites_ = site->next;
        djk_breathe();
        if (restore_board(*site)) {
            site->let_module_go();
            Box<Site>::adopt(site).reset();
        } else {
            site->keep_module();
            stuck.add(site);
        }
    }
}

void Garbage::abandon() {
    while (Site* site = sites_) {
        sites_ = site->next;
        djk_warn("a springboard stays here under a kprobe; nothing leads to it any more",
                 site->board().begin);
        {
            KernelText text;
            hide_board(text, *site);
        }
        site->let_module_go();
        Box<Site>::adopt(site).reset();
    }
}

}  // namespace djprobe::kmod
