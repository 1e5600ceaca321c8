// SPDX-License-Identifier: GPL-2.0
// Code that runs on every int3 before our recursion guard: a probe there would trap within the trap
// until the stack is gone.
#pragma once

#include "../../arch/x86/analysis/closure.h"

namespace djprobe::kmod {

class TrapPath {
  public:
    /// Compute the closure of the int3 path over direct calls in the code as it is now, and over
    /// what may trace it later. A refusal, with a line in the log: not all of it is known, so no
    /// site is safe.
    Refusal compute();

    /// Whether the function that begins there runs on the path.
    bool contains(u64 function) const;

  private:
    u64 members_[x86::kMaxTrapPath] = {};  ///< in their order
    size_t count_ = 0;
};

}  // namespace djprobe::kmod
