// SPDX-License-Identifier: GPL-2.0
// How control leaves a function of the running kernel, and where it returns.
#pragma once

#include "../../arch/x86/analysis/exits.h"
#include "../border/memory.h"
#include "decoded_function.h"

namespace djprobe::kmod {

using x86::Exit;

/// Answers what x86::Exits asks about symbols.
struct ExitSymbols {
    bool start_of(u64 address, u64& start) const {
        u64 size;
        return djk_symbol_range(address, &start, &size);
    }
    bool is_compiled(u64 start) const { return djk_is_compiled(start); }
    bool is_part(u64 start) const { return djk_is_part(start); }
};

class KernelExits : public x86::Exits<ExitSymbols> {
  public:
    /// `walked`: the function that was walked through before, if any.
    explicit KernelExits(const djk_machine& machine, Range walked = {})
        : x86::Exits<ExitSymbols>({}, {machine.return_thunks.begin, machine.return_thunks.end},
                                  {machine.indirect_thunks.begin, machine.indirect_thunks.end},
                                  walked) {}
};

/// The addresses of all returns of the function that begins at `function`, its part elsewhere
/// included. Refusals: TAIL_CALL, NO_RETURN, NO_FUNCTION, UNSCANNABLE, NO_MEMORY. Under the
/// registry lock; the caller has pinned the function's module. `decoded` holds the function then.
Refusal find_returns(u64 function, const djk_machine& machine, const OwnText& ours,
                     DecodedFunction& decoded, Array<u64>& returns, size_t& count);

}  // namespace djprobe::kmod
