// SPDX-License-Identifier: GPL-2.0
// What has been detached: freed only when no CPU can be in it any more.
#pragma once

#include "quiescence_clock.h"
#include "site.h"
#include "../border/text_port.h"

struct djp_probe;

namespace djprobe::kmod {

/// A slot that a site does not use any more.
struct OldSlot {
    Slot slot;
    OldSlot* next = nullptr;
};

/// What nobody can find any more, but what a CPU may still run or read.
class Garbage {
  public:
    void add(Site* site);
    void add(djp_probe* probe);
    void add(OldSlot* slot);
    bool empty() const { return !sites_ && !boards_ && !probes_ && !slots_; }
    /// A springboard that is in the way of a plan for `address`, since a CPU may still be on it.
    bool has_board_near(u64 address, const QuiescenceClock& clock) const;
    /// Those which nobody is on any more. What somebody else has patched keeps the module.
    void restore_boards_near(u64 address, const QuiescenceClock& clock, SiteTable& sites);
    /// The text of these springboards is about to be freed.
    void forget_boards(KernelText& text, Range gone, SiteTable& sites);
    /// Move everything out, so that what comes later waits for a quiescence of its own.
    Garbage take();
    /// So many of them; returns whether any are left. Only after a quiescence that began after
    /// take(). What somebody else has patched goes to `stuck`, and keeps the module.
    bool free(size_t most, Garbage& stuck, SiteTable& sites);
    void free_all(Garbage& stuck, SiteTable& sites) { (void)free(~size_t{0}, stuck, sites); }
    /// We go, so nobody is left to restore these springboards: their bytes stay, and the log says
    /// so.
    void abandon(SiteTable& sites);

  private:
    bool free_one(Garbage& stuck, SiteTable& sites);

    Site* sites_ = nullptr;
    Site* boards_ = nullptr;  ///< those whose springboard is in the text
    djp_probe* probes_ = nullptr;
    OldSlot* slots_ = nullptr;
};

}  // namespace djprobe::kmod
