// SPDX-License-Identifier: GPL-2.0
// Where a function ends: its returns, its tail calls, and the part of it that lies elsewhere.
#pragma once

#include "../arch/x86/decode.h"
#include "../arch/x86/reason.h"
#include "memory.h"
#include "site.h"

namespace djprobe::kmod {

/// Sorts the instructions of one function, shown to it one after the other.
class Exits {
  public:
    enum class Exit : u8 { None, Return, TailCall, Part, Unknown };

    Exits(Range own, const djk_machine& machine);

    /// How control leaves the function by this instruction, calls aside.
    Exit classify(const x86::Insn& insn);

    /// The part elsewhere (NAME.cold), 0: none was seen.
    u64 part() const { return part_; }
    /// Every jump that leaves is a tail call or leads there.
    bool all_known() const { return known_; }

  private:
    Exit leave(u64 target);

    Range own_, return_thunks_, indirect_thunks_;
    u64 part_ = 0;
    bool known_ = true;
};

/// The addresses of all returns of the function that begins at `function`, its part elsewhere
/// included. Refusals: TAIL_CALL, NO_RETURN, NO_FUNCTION, UNSCANNABLE, NO_MEMORY. Under the
/// registry lock; the caller has pinned the function's module.
Refusal find_returns(u64 function, const djk_machine& machine, const SiteTable& sites,
                     Array<u64>& returns, size_t& count);

}  // namespace djprobe::kmod
