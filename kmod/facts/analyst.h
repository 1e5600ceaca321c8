// SPDX-License-Identifier: GPL-2.0
// From the live kernel to a plan: collects all that the analysis must be told about a site.
#pragma once

#include "../../arch/x86/analysis/plan.h"
#include "decoded_function.h"
#include "fragile_text.h"
#include "landing_index.h"
#include "live_at.h"
#include "returns.h"
#include "trap_path.h"

namespace djprobe::kmod {

/// Decides about sites of the running kernel. Under the registry lock.
class Analyst {
  public:
    Analyst();
    ~Analyst();

    /// Learn what is fixed while the module is loaded. Without the lock, once. A refusal: the
    /// module must not load.
    Refusal start();

    /// The plan for a site, or the refusal that says why it is none. Asks the kernel all that its
    /// own kprobes ask, about every instruction that would be displaced. The caller has pinned the
    /// site's module. May sleep; takes the text lock.
    Refusal analyse(u64 site, const OwnText& ours, x86::Plan& plan);

    /// Which registers and flags the kernel still needs at `site`, the one that analyse() was
    /// called for last. `increments`: as far as an increment asks, see find_live_at().
    x86::Live find_live(u64 site, const OwnText& ours, bool increments) const;

    /// The addresses of all returns of the function that begins at `function`: see find_returns().
    Refusal find_returns(u64 function, const OwnText& ours, Array<u64>& returns, size_t& count);

    /// ENTRY_AGAIN when control can reach `address` in another way than from the instruction before
    /// it; NO_INDEX or NO_MEMORY when that is not known.
    Refusal check_no_landing(u64 address, const OwnText& ours);

    /// The kernel is about to free this text.
    void forget(Range text);
    /// Ask the kernel again which functions of its own it forbids: while others had the lock, a
    /// module may have come that names more.
    void forget_allowed();

    /// Constant after start().
    const djk_machine& machine() const { return machine_; }

    /// The index of what may land in the core kernel's text. It takes seconds to build, without the
    /// lock; the first one that is set stays.
    bool knows_landings() const { return index_.is_built(); }
    void set_landings(LandingIndex&& index) {
        if (!index_.is_built()) index_ = static_cast<LandingIndex&&>(index);
    }

  private:
    /// The room that one analysis needs, and the next one uses again.
    struct Scratch;

    /// Why no site of this function may be, whatever is there.
    Refusal check_function(Range function) const;

    /// Plan the site of scratch_->snapshot with the facts about `known`, which is enough for
    /// `tactics`.
    Refusal decide_within(Range known, u8 tactics, const OwnText& ours, x86::Plan& plan);

    /// Refuse to copy an instruction that the kernel has made safe for this CPU where it lies.
    Refusal check_copies(x86::Plan& plan) const;

    Box<Scratch> scratch_;
    djk_machine machine_{};
    TrapPath trap_path_;
    Fragile fragile_;
    LandingIndex index_;
    ModuleIndexes modules_;
};

}  // namespace djprobe::kmod
