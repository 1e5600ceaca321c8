// SPDX-License-Identifier: GPL-2.0
// Which registers and flags are live at a site of the running kernel.
#pragma once

#include "../../arch/x86/analysis/liveness.h"
#include "decoded_function.h"
#include "landing_index.h"

namespace djprobe::kmod {

/// What several sites share.
struct LiveAtMemo {
    DecodedFunction& function;  ///< the one that holds the site
    DecodedFunction& cold;      ///< room for its part elsewhere
    x86::EffectsMemo& effects;
};

/// What is live before the instruction at `site`; everything, when it cannot be proved that less
/// is. `increments`: it is enough to know that an increment needs to save nothing, and all that it
/// does not need may count as live. Under the registry lock; the caller has pinned the site's
/// module.
x86::Live find_live_at(u64 site, const LiveAtMemo& memo, const djk_machine& machine,
                       const LandingIndex& index, const OwnText& ours, bool increments);

}  // namespace djprobe::kmod
