// SPDX-License-Identifier: GPL-2.0
// Which handlers a detour may call itself, and what it must know of them.
#pragma once

#include "../../arch/x86/detour/program_call.h"
#include "../border/memory.h"
#include "../glue/kernel.h"

namespace djprobe::kmod {

/// Describes programs to the detour. Remembers the last one, since many sites have the same. Under
/// the registry lock.
class DirectCalls {
  public:
    /// False: a detour must call the handler through djk_machine.hit_handler. Fills all of `out`
    /// that does not depend on the site.
    bool describe(const djk_machine& machine, const djk_handler* handler, x86::DirectConfig& out);
    /// What the handler may read of the registers.
    x86::FieldSet context_of(const djk_machine& machine, const djk_handler* handler);
    /// See CodeBuilder::prepare().
    void prepare(const djk_machine& machine, djk_handler* handler);
    /// Forget the last program: it may have been freed.
    void forget() { known_ = nullptr; }

  private:
    struct Facts {
        bool direct = false;
        u64 body = 0;  ///< the program's first byte that no tracer patches
        x86::FieldSet context = x86::kAllFields;
        x86::RegisterSet clobbers = x86::kCallerSaved;
    };
    const Facts& find(const djk_machine& machine, const djk_program& program);
    static Facts analyse(const djk_machine& machine, const djk_program& program);

    const void* known_ = nullptr;
    Facts facts_;
};

}  // namespace djprobe::kmod
