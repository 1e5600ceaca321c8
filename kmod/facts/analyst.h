// SPDX-License-Identifier: GPL-2.0
// From the live kernel to a Snapshot: everything that the analysis must be told about a site.
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

    /// Learn what is fixed while the module is loaded. A refusal: the module must not load.
    Refusal start();

    /// Plan for a site, or why it is none. Asks the kernel whatever its own kprobe check asks, of
    /// every instruction that would be displaced.
    Refusal analyse(u64 site, const OwnText& ours, x86::Plan& plan);

    /// What anybody still needs at the site that has been analysed last.
    x86::Live find_live(u64 site, const OwnText& ours) const;

    /// The addresses of all returns of the function that begins at `function`: see find_returns().
    Refusal find_returns(u64 function, const OwnText& ours, Array<u64>& returns, size_t& count);

    /// ENTRY_AGAIN when anything but falling through leads to `address`.
    Refusal check_no_landing(u64 address, const OwnText& ours);

    /// The text is about to be freed.
    void forget(Range text) { modules_.forget(text); }

    const djk_machine& machine() const { return machine_; }

    /// Who may land where in the core kernel's text. The first one that is built stays.
    bool knows_landings() const { return index_.is_built(); }
    void set_landings(LandingIndex&& index) {
        if (!index_.is_built()) index_ = static_cast<LandingIndex&&>(index);
    }

  private:
    /// What one analysis needs and the next one can use again.
    struct Scratch;

    /// Plan the site of scratch_->snapshot by what is found out about `known`, enough for
    /// `tactics`.
    Refusal decide_within(Range known, u8 tactics, const OwnText& ours, x86::Plan& plan);

    /// No copy of an instruction is less safe than the kernel has made the original for this CPU.
    Refusal check_copies(x86::Plan& plan) const;

    Box<Scratch> scratch_;
    djk_machine machine_{};
    TrapPath trap_path_;
    Fragile fragile_;
    LandingIndex index_;
    ModuleIndexes modules_;
};

}  // namespace djprobe::kmod
