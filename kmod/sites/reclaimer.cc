// SPDX-License-Identifier: GPL-2.0
#include "reclaimer.h"

#include "patched_text.h"
#include "text_checks.h"

namespace djprobe::kmod {
namespace {

/// Take the springboard out, which no CPU can be on any more. False: another patcher has written
/// into it.
bool restore_board(Site& site, SiteTable& table) {
    if (!site.board_entry) return true;
    KernelText text;
    // A kprobe that is not in the text keeps a copy of the jump, and would write it back.
    if (find_kprobe(site.board()) || check_text(text, site.written_board(), TextForm::Jump))
        return false;
    x86::restore_board(text, site.written_board());
    text.sync_cores();
    hide_board(text, site);
    table.forget_board(site);
    return true;
}

/// Free the site, whose code no CPU can be in any more.
void free_site(Site& site, SiteTable& table) {
    if (site.bypassed) {
        KernelText text;
        table.remove(site.bypass);
        // A hit elsewhere may walk through the table. int3 handlers have interrupts off: the core
        // sync waits for it.
        text.sync_cores();
    }
    site.let_module_go();
    Box<Site>::adopt(&site).reset();
}

/// Until a quiescence: a springboard in the text, or a kprobe of ours that the kernel still lists,
/// which would look like the kernel's own.
bool leaves_behind(const Site& site) {
    return site.board_entry || site.joins_kprobe();
}

bool is_near(const Site& site, u64 address) {
    const Range reach = {address - 2 * x86::kTacticReach, address + 2 * x86::kTacticReach};
    return reach.contains(site.address());
}

}  // namespace

void Reclaimer::Heap::add(Site& site) {
    // Every attach looks at the sites that leave something behind; the others may be many.
    Site*& list = leaves_behind(site) ? leaving_ : sites_;
    site.next = list;
    list = &site;
}

void Reclaimer::Heap::add(Discarded& object) {
    object.next_discarded = objects_;
    objects_ = &object;
}

bool Reclaimer::Heap::is_in_the_way(u64 address, const QuiescenceClock& clock) const {
    for (const Site* site = leaving_; site; site = site->next)
        if (leaves_behind(*site) && !clock.has_passed(site->left) && is_near(*site, address))
            return true;
    return false;
}

void Reclaimer::Heap::restore_boards_near(u64 address, const QuiescenceClock& clock,
                                          SiteTable& table) {
    for (Site* site = leaving_; site; site = site->next)
        if (clock.has_passed(site->left) && is_near(*site, address) && !restore_board(*site, table))
            site->keep_module();
}

void Reclaimer::Heap::forget_boards(KernelText& text, Range gone, SiteTable& table) {
    for (Site* site = leaving_; site; site = site->next) {
        if (!gone.contains(site->address())) continue;
        hide_board(text, *site);
        table.forget_board(*site);
    }
}

Reclaimer::Heap Reclaimer::Heap::take() {
    const Heap taken = *this;
    *this = Heap{};
    return taken;
}

bool Reclaimer::Heap::free_one(Heap& stuck, SiteTable& table) {
    if (Discarded* object = objects_) {
        objects_ = object->next_discarded;
        object->free(*object);
        return true;
    }
    Site*& list = sites_ ? sites_ : leaving_;
    Site* const site = list;
    if (!site) return false;
    list = site->next;
    if (restore_board(*site, table)) {
        free_site(*site, table);
    } else {
        site->keep_module();
        stuck.add(*site);
    }
    return true;
}

bool Reclaimer::Heap::free(size_t most, Heap& stuck, SiteTable& table) {
    for (; most > 0 && free_one(stuck, table); --most)
        djk_breathe();
    return !is_empty();
}

void Reclaimer::Heap::abandon(SiteTable& table) {
    while (Site* site = leaving_) {
        leaving_ = site->next;
        djk_warn("a springboard stays here under a kprobe; nothing leads to it any more",
                 site->board().begin);
        {
            KernelText text;
            hide_board(text, *site);
        }
        table.forget_board(*site);
        free_site(*site, table);
    }
}

void Reclaimer::add(Site& site) {
    site.left = clock_.next();
    waiting_.add(site);
    djk_optimizer_kick();
}

void Reclaimer::add(Discarded& object) {
    waiting_.add(object);
    djk_optimizer_kick();
}

void Reclaimer::quiesce() {
    const u64 number = clock_.begin();
    djk_registry_unlock();
    djk_give_up_seats();
    djk_quiesce();
    djk_registry_lock();
    clock_.end(number);
}

bool Reclaimer::is_clear(u64 address) const {
    return !waiting_.is_in_the_way(address, clock_) && !freeing_.is_in_the_way(address, clock_);
}

void Reclaimer::restore_boards_near(u64 address) {
    Heap* const heaps[] = {&stuck_, &waiting_, &freeing_};
    for (Heap* heap : heaps)
        heap->restore_boards_near(address, clock_, table_);
}

void Reclaimer::forget_boards(Range text) {
    KernelText port;
    Heap* const heaps[] = {&waiting_, &freeing_, &stuck_};
    for (Heap* heap : heaps)
        heap->forget_boards(port, text, table_);
}

bool Reclaimer::begin_round() {
    Heap again = stuck_.take();
    again.free_all(stuck_, table_);
    freeing_ = waiting_.take();
    return !freeing_.is_empty();
}

void Reclaimer::stop() {
    freeing_.free_all(stuck_, table_);
    waiting_.free_all(stuck_, table_);
    // A kprobe came after a site's last probe left: it is too late to keep the module.
    stuck_.abandon(table_);
}

}  // namespace djprobe::kmod
