// SPDX-License-Identifier: GPL-2.0
// A request holds the registry lock for some milliseconds at most: it does longer work in portions.
#pragma once

#include "../../arch/x86/insn/types.h"
#include "../glue/kernel.h"

namespace djprobe::kmod {

/// What a walk does with the object that it stands on.
enum class Taken { Counts, Skipped, Not };

/// How much one request does before it lets others have the registry lock. The request holds the
/// lock when it makes this object and calls its functions.
class Portions {
  public:
    Portions() { djk_portion_begin(&portion_); }

    size_t size() const { return portion_.size; }
    /// Let others have the registry lock. Afterwards all that the caller knows may be wrong, except
    /// about objects that it owns.
    void pause() {
        djk_registry_pause(&portion_);
        paused_ = true;
    }

    /// Calls work(portion) for all objects, with a pause between two portions. False: work() has
    /// said false, and the rest is not done.
    template <class T, class Work>
    bool for_each(Span<T> all, Work&& work) {
        for (size_t done = 0; done < all.size();) {
            // A request that has paused once is a long one: it pauses before each further step,
            // too.
            if (done || paused_) pause();
            const Span<T> portion = all.from(done).first(size());
            if (!work(portion)) return false;
            done += portion.size();
        }
        return true;
    }

    /// One portion of a walk: it ends after `most` objects that count, after many that do not, or
    /// at one that take() leaves.
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
    /// The same, for all objects; choose(object) says whether one counts.
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
