// SPDX-License-Identifier: GPL-2.0
// Which quiescences have passed, so that no request waits for one that is over.
#pragma once

#include "../../arch/x86/insn/types.h"

namespace djprobe::kmod {

/// Numbers quiescences as they begin; several may go on at once. Under the registry lock. The wait
/// itself is without the lock: begin() comes before it, end() after it.
class QuiescenceClock {
  public:
    /// When the quiescence of this number is over, no hit is on anything that has been left by now.
    [[nodiscard]] u64 next() const { return begun_ + 1; }
    /// Whether this quiescence is over, or one that began later.
    [[nodiscard]] bool has_passed(u64 number) const { return number <= ended_; }
    [[nodiscard]] u64 begin() { return ++begun_; }
    void end(u64 number) {
        if (ended_ < number) ended_ = number;
    }

  private:
    u64 begun_ = 0;
    u64 ended_ = 0;
};

}  // namespace djprobe::kmod
