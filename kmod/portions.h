// SPDX-License-Identifier: GPL-2.0
// The registry lock is held for some milliseconds at most: what takes longer is done in portions.
#pragma once

#include "../arch/x86/types.h"
#include "glue/kernel.h"

namespace djprobe::kmod {

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

    /// A portion of a walk, of `most` objects: choose(object) -> it counts. Ends, too, when there
    /// is little to choose.
    template <class Cursor, class Choose>
    void take(Cursor& cursor, size_t most, Choose&& choose) const {
        constexpr size_t kLooksEach = 32;
        if (most > size()) most = size();
        size_t looks = size() * kLooksEach;
        for (; most > 0 && looks > 0 && !cursor.at_end(); --looks)
            if (choose(*cursor.take())) --most;
    }

  private:
    djk_portion portion_;
    bool paused_ = false;
};

}  // namespace djprobe::kmod
