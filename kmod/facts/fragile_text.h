// SPDX-License-Identifier: GPL-2.0
// Code that must not hold a probe although no list of the kernel says so.
#pragma once

#include "../../arch/x86/analysis/closure.h"
#include "../border/memory.h"

namespace djprobe::kmod {

/// The code that a CPU runs while it comes online or goes offline, and the code that the kernel
/// copies. djk_forbidden() knows it from compute() on, as long as this object lives.
class Fragile {
  public:
    Fragile() = default;
    Fragile(const Fragile&) = delete;
    Fragile& operator=(const Fragile&) = delete;
    ~Fragile() { djk_set_fragile(nullptr, 0); }

    /// Find that code. A refusal, with a line in the log: not all of it is known, so no site is
    /// safe.
    Refusal compute();

  private:
    Array<djk_extent> ranges_;
};

}  // namespace djprobe::kmod
