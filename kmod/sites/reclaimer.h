// SPDX-License-Identifier: GPL-2.0
// What has been detached: freed only when no CPU can be in it any more.
#pragma once

#include "../border/memory.h"
#include "../border/text_port.h"
#include "quiescence_clock.h"
#include "site_table.h"

namespace djprobe::kmod {

/// What a CPU may still run or read although nothing leads to it any more. Its owner derives from
/// this, and gives it to Reclaimer::add().
struct Discarded {
    Discarded* next_discarded = nullptr;
    void (*free)(Discarded& self) = nullptr;
};

/// Owns all that waits to be freed, and the clock that says for how long. Under the registry lock.
///
/// What is added waits for the optimizer's next round: begin_round(), quiesce(), free_some().
class Reclaimer {
  public:
    /// Removed sites are in `table` for their springboards.
    explicit Reclaimer(SiteTable& table) : table_(table) {}

    /// The site is out of the table.
    void add(Site& site);
    void add(Discarded& object);
    /// The same for an object that has no more to do than to be deleted.
    template <class T>
    void add(Box<T>&& box) {
        box->free = [](Discarded& self) { Box<T>::adopt(static_cast<T*>(&self)).reset(); };
        add(*box.release());
    }

    /// What is left now is free of hits when the quiescence of this number is over.
    [[nodiscard]] u64 next_quiescence() const { return clock_.next(); }
    [[nodiscard]] bool has_passed(u64 quiescence) const { return clock_.has_passed(quiescence); }
    /// Wait for one. Gives the registry lock back meanwhile.
    void quiesce();

    /// No CPU may still be on a removed site's springboard in the way of a plan for `address`.
    [[nodiscard]] bool is_clear(u64 address) const;
    /// Take out the removed springboards near `address` that no CPU is on any more. One in which
    /// another patcher has written stays, and keeps the module.
    void restore_boards_near(u64 address);
    /// The text of these springboards is about to be freed.
    void forget_boards(Range text);

    /// Take all that has been added until now; what is added later waits for the next round.
    /// False: there is nothing to free.
    bool begin_round();
    /// Free so many objects of the round. Only after a quiescence that began after begin_round().
    /// False: that was all.
    bool free_some(size_t most) { return freeing_.free(most, stuck_, table_); }
    /// Springboards that another patcher keeps: the next round tries again.
    [[nodiscard]] bool has_stuck() const { return !stuck_.is_empty(); }

    /// Free everything: no probe is left, and a quiescence has passed. Springboards that are stuck
    /// stay in the text, which the log says.
    void stop();

  private:
    class Heap {
      public:
        void add(Site& site);
        void add(Discarded& object);
        [[nodiscard]] bool is_empty() const { return !sites_ && !boards_ && !objects_; }
        [[nodiscard]] bool has_board_near(u64 address, const QuiescenceClock& clock) const;
        void restore_boards_near(u64 address, const QuiescenceClock& clock, SiteTable& table);
        void forget_boards(KernelText& text, Range gone, SiteTable& table);
        Heap take();
        /// Returns whether any are left.
        bool free(size_t most, Heap& stuck, SiteTable& table);
        void free_all(Heap& stuck, SiteTable& table) { (void)free(~size_t{0}, stuck, table); }
        void abandon(SiteTable& table);

      private:
        bool free_one(Heap& stuck, SiteTable& table);

        Site* sites_ = nullptr;
        Site* boards_ = nullptr;  ///< those whose springboard is in the text
        Discarded* objects_ = nullptr;
    };

    SiteTable& table_;
    QuiescenceClock clock_;
    Heap waiting_;
    Heap freeing_;  ///< the round's
    Heap stuck_;    ///< springboards that no CPU is on, under another patcher's bytes
};

}  // namespace djprobe::kmod
