// SPDX-License-Identifier: GPL-2.0
// Where the probes of some requests go: one address each, or one for each return.
#pragma once

#include "../border/memory.h"

namespace djprobe::kmod {

/// Where one probe goes.
struct Target {
    u64 address;
    u64 function;  ///< the function whose entry or return this is; 0: it is neither
    bool at_entry;
    bool at_return;
    bool is_further;      ///< of its function's returns, not the first
    size_t request;       ///< the request's index
    unsigned long since;  ///< Registry::unloads_ before the first fact about it was found
};

/// The targets of all requests, in their order.
class Targets {
  public:
    /// The number of requests is bounded; the number of returns in their functions is not.
    static constexpr size_t kMost = size_t{1} << 20;

    /// False: out of memory, or too many.
    [[nodiscard]] bool add(const Target& target) {
        if (count_ == kMost || (count_ == all_.size() && !grow())) return false;
        all_[count_++] = target;
        return true;
    }
    /// Forget all but the first `count`.
    void cut(size_t count) { count_ = count; }
    [[nodiscard]] size_t count() const { return count_; }
    const Target& operator[](size_t index) const { return all_[index]; }

  private:
    bool grow() {
        Array<Target> more(count_ ? 2 * count_ : 16);
        if (!more) return false;
        for (size_t i = 0; i < count_; ++i)
            more[i] = all_[i];
        all_ = static_cast<Array<Target>&&>(more);
        return true;
    }

    Array<Target> all_;
    size_t count_ = 0;
};

}  // namespace djprobe::kmod
