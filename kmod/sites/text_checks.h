// SPDX-License-Identifier: GPL-2.0
// Whether the text around a site is what its state says: another patcher may have written there.
#pragma once

#include "../border/text_port.h"
#include "../facts/kernel_text.h"
#include "site_table.h"

namespace djprobe::kmod {

using x86::TextForm;

/// All that a live site has written, its int3s or its jump, is still there and can be taken back.
/// The bytes behind an int3 do not matter: the site has not written them.
Refusal check_written(KernelText& text, const Site& site);

/// The same; besides, the bytes of the jump's tail are the original ones, and no kprobe of the
/// kernel is about to be written there.
Refusal check_to_optimize(KernelText& text, const Site& site);

/// The text is what the plan, and with it the detour, was made from. FOREIGN_PATCH: it is not,
/// since the analysis may have read it while the kernel changed it for a kprobe nearby.
Refusal check_unchanged(KernelText& text, const SiteTable& table, const Site& site);

}  // namespace djprobe::kmod
