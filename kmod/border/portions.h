// SPDX-License-Identifier: GPL-2.0
// The registry lock is held for some milliseconds at most: what takes longer is done in portions.
#pragma once

#include "../../arch/x86/insn/types.h"
#include "../glue/kernel.h"

namespace djprobe::kmod {

/// What a walk does with the object that it stands on.
enum class Taken { Counts, Skipped, Not };

/// How much one request does while it holds the registry lock, which its owner has taken.
class Portions {
  public:
    Portions() { djk_portion_begin(&portion_); }

    size_t size() const { return portion_.size; }
    /// Let others have the registry lock. All that was found out before may have changed since,
    /// but for the caller's own objects.
    void pause() {
        djk_registry_pause(&portion_);
        paused_ = true;
    }

    /// work(portion) -> go on, for all of them, with a pause between two portions. False: not all.
    template <class T, class Work>
    bool for_each(Span<T> all, Work&& work) {
        for (size_t done = 0; done < all.size();) {
            // What does not fit into one portion has one for each of its steps, too.
            if (done || paused_) pause();
            const Span<T> portion = all.from(done).first(size());
            if (!work(portion)) return false;
            done += portion.size();
        }
        return true;
    }

    /// A portion of a walk, of `most` objects that count. Ends, too, when few of them do.
    template <class Cursor, class Take>
    void take_while(Cursor& cursor, size_t most, Take&& take) const {
        constexpr size_t kLooksEach = 32;
        if (most > size()) most = size();
        size_t looks = size() * kLooksEach;
        for (; most > 0 && looks > 0 && !cursor.at_end(); --looks) {
            const Taken taken = take(*cursor.peek());
            if (taken == Taken::Not) return;
            (void)cursor.take();
            if (taken == Taken::Counts) --most;
        }
    }
    /// The same; choose(object) -> it counts.
    template <class Cursor, class Choose>
    void take(Cursor& cursor, size_t most, Choose&& choose) const {
        take_while(cursor, most,
                   [&](auto& object) { return choose(object) ? Taken::Counts : Taken::Skipped; });
    }

  private:
    djk_portion portion_;
    bool paused_ = false;
};

}  // namespace djprobe::kmod
