// SPDX-License-Identifier: GPL-2.0
// Which quiescences have passed, so that nobody waits for one that is over.
#pragma once

#include "../../arch/x86/insn/types.h"

namespace djprobe::kmod {

/// Quiescences are numbered as they begin; several may go on at once. Under the registry lock, but
/// the waiting itself, which is the point: begin() before, end() after it.
class QuiescenceClock {
  public:
    /// What has been left by now is free of hits when the quiescence of this number is over.
    [[nodiscard]] u64 next() const { return begun_ + 1; }
    /// Is it, or one that began later?
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
