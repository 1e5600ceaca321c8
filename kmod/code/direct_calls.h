// SPDX-License-Identifier: GPL-2.0
// Which handlers a detour may call itself, and what it must know of them.
#pragma once

#include "../../arch/x86/detour/program_call.h"
#include "../border/memory.h"
#include "../glue/kernel.h"

namespace djprobe::kmod {

/// Describes programs to the detour; remembers the last one, since many sites have the same.
class DirectCalls {
  public:
    /// False: the handler must be called the general way. Fills all but Live's part.
    bool describe(const djk_machine& machine, const djk_handler* handler, x86::DirectConfig& out);
    /// Spare a program what it does not need even where it is called the general way.
    void prepare(const djk_machine& machine, djk_handler* handler);
    /// Before a reference to any program may have been given back.
    void forget() { known_ = nullptr; }

  private:
    struct Facts {
        bool direct = false;
        u64 body = 0;  ///< where the program begins that nobody patches
        x86::FieldSet context = x86::kAllFields;
        x86::RegisterSet clobbers = x86::kCallerSaved;
    };
    const Facts& find(const djk_machine& machine, const djk_program& program);
    static Facts analyse(const djk_machine& machine, const djk_program& program);

    const void* known_ = nullptr;
    Facts facts_;
};

}  // namespace djprobe::kmod
