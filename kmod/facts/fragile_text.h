// SPDX-License-Identifier: GPL-2.0
// Code in which no probe may be although no list of the kernel's says so.
#pragma once

#include "../../arch/x86/analysis/closure.h"
#include "../border/memory.h"

namespace djprobe::kmod {

/// What a CPU runs that comes or goes, and what the kernel copies. From compute() on
/// djk_forbidden() knows it, as long as this lives.
class Fragile {
  public:
    Fragile() = default;
    Fragile(const Fragile&) = delete;
    Fragile& operator=(const Fragile&) = delete;
    ~Fragile() { djk_set_fragile(nullptr, 0); }

    /// Find it in the code as it is now. A refusal when it is not fully known: then no site is
    /// safe.
    Refusal compute();

  private:
    Array<djk_extent> ranges_;
};

}  // namespace djprobe::kmod
