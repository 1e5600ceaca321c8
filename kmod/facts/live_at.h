// SPDX-License-Identifier: GPL-2.0
// What is live at a site of the running kernel.
#pragma once

#include "../../arch/x86/analysis/liveness.h"
#include "function_copy.h"
#include "landing_index.h"

namespace djprobe::kmod {

/// `function` holds the site, without anybody's probes. Under the registry lock; the caller has
/// pinned the site's module.
x86::Live find_live_at(u64 site, const Code& function, const djk_machine& machine,
                       const LandingIndex& index, const OwnText& ours);

}  // namespace djprobe::kmod
