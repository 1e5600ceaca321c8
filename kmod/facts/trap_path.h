// SPDX-License-Identifier: GPL-2.0
// Code that runs on every int3 before our recursion guard can tell: a probe there would trap
// within the trap until the stack is gone.
#pragma once

#include "../../arch/x86/analysis/closure.h"

namespace djprobe::kmod {

class TrapPath {
  public:
    /// Compute the closure of the int3 path over direct calls, from the code as it is now, and what
    /// may trace it later. A refusal when it is not fully known: then no site is safe.
    Refusal compute();

    bool contains(u64 function) const;

  private:
    u64 members_[x86::kMaxTrapPath] = {};
    size_t count_ = 0;
};

}  // namespace djprobe::kmod
