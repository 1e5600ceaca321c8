// SPDX-License-Identifier: GPL-2.0
// What was detached is freed here, when no CPU can be in it any more.
#pragma once

#include "../border/memory.h"
#include "../border/text_port.h"
#include "discarded.h"
#include "quiescence_clock.h"
#include "site_table.h"

namespace djprobe::kmod {

/// Owns all that waits to be freed, and the clock that says for how long. Under the registry lock.
/// Functions that touch springboards take the text lock, too.
///
/// An object that is added waits for the optimizer's next round, which is begin_round(), quiesce(),
/// free_some().
class Reclaimer {
  public:
    /// `table` still lists removed sites whose springboards are in the text.
    explicit Reclaimer(SiteTable& table) : table_(table) {}

    /// Own the object and free it when no CPU can be in it, by its function `free`. A site has been
    /// removed from the table. These kick the optimizer.
    void add(Site& site);
    void add(Discarded& object);
    /// The same for an object that is just deleted.
    template <class T>
    void add(Box<T>&& box) {
        box->free = [](Discarded& self) { Box<T>::adopt(static_cast<T*>(&self)).reset(); };
        add(*box.release());
    }

    /// When the quiescence of this number is over, no hit is on anything that has been left by now.
    [[nodiscard]] u64 next_quiescence() const { return clock_.next(); }
    /// Whether that quiescence is over.
    [[nodiscard]] bool has_passed(u64 quiescence) const { return clock_.has_passed(quiescence); }
    /// Wait for a quiescence: tens of milliseconds, in which others have the registry lock.
    void quiesce();

    /// False: a CPU may still be on a removed site's springboard that is in the way of a plan for
    /// `address`. It is true after quiesce().
    [[nodiscard]] bool is_clear(u64 address) const;
    /// Take out the removed springboards near `address` that no CPU is on any more. A springboard
    /// that another patcher has written into stays, and keeps the module.
    void restore_boards_near(u64 address);
    /// The kernel is about to free the text of these springboards: leave their bytes.
    void forget_boards(Range text);

    /// Begin a round with all that was added until now. False: there is nothing to free.
    bool begin_round();
    /// Free up to `most` objects of the round. Only after a quiescence that began after
    /// begin_round(). False: none is left.
    bool free_some(size_t most) { return freeing_.free(most, stuck_, table_); }
    /// Whether another patcher keeps springboards: the next round tries again.
    [[nodiscard]] bool has_stuck() const { return !stuck_.is_empty(); }

    /// Free everything, when no probe is left and a quiescence has passed. A springboard that
    /// another patcher keeps stays in the text, with a line in the log.
    void stop();

  private:
    class Heap {
      public:
        void add(Site& site);
        void add(Discarded& object);
        [[nodiscard]] bool is_empty() const { return !sites_ && !leaving_ && !objects_; }
        [[nodiscard]] bool is_in_the_way(u64 address, const QuiescenceClock& clock) const;
        void restore_boards_near(u64 address, const QuiescenceClock& clock, SiteTable& table);
        void forget_boards(KernelText& text, Range gone, SiteTable& table);
        Heap take();
        /// Returns whether an object is left.
        bool free(size_t most, Heap& stuck, SiteTable& table);
        void free_all(Heap& stuck, SiteTable& table) { (void)free(~size_t{0}, stuck, table); }
        void abandon(SiteTable& table);

      private:
        bool free_one(Heap& stuck, SiteTable& table);

        Site* sites_ = nullptr;
        Site* leaving_ = nullptr;  ///< sites that leave a springboard or a kprobe behind
        Discarded* objects_ = nullptr;
    };

    SiteTable& table_;
    QuiescenceClock clock_;
    Heap waiting_;
    Heap freeing_;  ///< what this round frees
    Heap stuck_;    ///< springboards that no CPU is on, under another patcher's bytes
};

}  // namespace djprobe::kmod
