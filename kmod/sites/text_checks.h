// SPDX-License-Identifier: GPL-2.0
// Whether the text around a site is what its state says: another patcher may have written there.
#pragma once

#include "../border/text_port.h"
#include "../facts/kernel_text.h"
#include "site_table.h"

namespace djprobe::kmod {

using x86::TextForm;

/// All that a live site has written is there, to be taken back: its int3s, or its jump. Behind an
/// int3 it has written nothing: what another patcher has done there does not matter.
Refusal check_written(KernelText& text, const Site& site);

/// The same, the bytes of the jump's tail are the original ones, and no kprobe of the kernel is
/// about to be written there.
Refusal check_to_optimize(KernelText& text, const Site& site);

/// The text is what the plan, and with it the detour, was made from: it may have been read while
/// the kernel was changing it for a kprobe nearby. FOREIGN_PATCH: it is not.
Refusal check_unchanged(KernelText& text, const SiteTable& table, const Site& site);

}  // namespace djprobe::kmod
