// SPDX-License-Identifier: GPL-2.0
// The text that our own sites have changed: the analysis judges the kernel's text as it was before.
#pragma once

#include "../../arch/x86/insn/decode.h"
#include "../border/function_ref.h"

namespace djprobe::kmod {

class FunctionCopy;

/// What the owner of the sites (SiteTable) tells the analysis, which knows no sites. Under the
/// registry lock.
class OwnText {
  public:
    /// Undo in the copy what sites have written, springboards of removed sites included.
    virtual void restore(FunctionCopy& copy) const = 0;
    /// Calls use(board) for the springboards that belong to a site in or near `range`.
    virtual void for_each_board(Range range, FunctionRef<void(Range)> use) const = 0;
    /// Calls use(instruction) for every instruction that runs in a detour instead of in the text
    /// and that leads elsewhere or takes an address, and perhaps for others: of sites in `text`,
    /// which is a module's.
    virtual void for_each_displaced(Range text, FunctionRef<void(const x86::Insn&)> use) const = 0;

  protected:
    ~OwnText() = default;
};

}  // namespace djprobe::kmod
