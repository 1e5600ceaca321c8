// SPDX-License-Identifier: GPL-2.0
// Which registers and flags are live at a site of the running kernel.
#pragma once

#include "../../arch/x86/analysis/liveness.h"
#include "function_copy.h"
#include "landing_index.h"

namespace djprobe::kmod {

/// What is live before the instruction at `site`; everything, when it cannot be proved that less
/// is. `effects` is kept for the next time. `function` holds the site and is free of all probes.
/// `increments`: it is enough to know that an increment needs to save nothing, and all that it does
/// not need may count as live. Under the registry lock; the caller has pinned the site's module.
x86::Live find_live_at(u64 site, const Code& function, const djk_machine& machine,
                       const LandingIndex& index, const OwnText& ours, bool increments,
                       x86::EffectsMemo& effects);

}  // namespace djprobe::kmod
