// SPDX-License-Identifier: GPL-2.0
// What has been detached: freed only when no CPU can be in it any more.
#pragma once

#include "site.h"
#include "text_port.h"

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
    bool empty() const { return !sites_ && !probes_ && !slots_; }
    /// Springboards that may be in the way of a plan for `address`.
    bool has_board_near(u64 address) const;
    bool has_board_in(Range text) const;
    /// Only after a quiescence that began after they were added.
    void restore_boards_near(u64 address);
    /// The text of these springboards is about to be freed.
    void forget_boards(KernelText& text, Range gone);
    /// Move everything out, so that what comes later waits for a quiescence of its own.
    Garbage take();
    /// Only after a quiescence that began after take(). What somebody else has patched goes to
    /// `stuck`, and keeps the module.
    void free(Garbage& stuck);
    /// We go, so nobody is left to restore these springboards: their bytes stay, and the log says
    /// so.
    void abandon();

  private:
    Site* sites_ = nullptr;
    djp_probe* probes_ = nullptr;
    OldSlot* slots_ = nullptr;
};

}  // namespace djprobe::kmod
