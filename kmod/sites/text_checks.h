// SPDX-License-Identifier: GPL-2.0
// Whether the text around a site is what its state says: another patcher may have written there.
#pragma once

#include "../border/text_port.h"
#include "../facts/kernel_text.h"
#include "site_table.h"

namespace djprobe::kmod {

using x86::TextForm;

/// The bytes that the site has written are there, and a jump's tail is its own.
Refusal check_site_text(KernelText& text, const Site& site);

/// The same, and no kprobe of the kernel is about to be written where the jump will be.
Refusal check_to_optimize(KernelText& text, const Site& site);

/// The text is what the plan, and with it the detour, was made from: it may have been read while
/// the kernel was changing it for a kprobe nearby. FOREIGN_PATCH: it is not.
Refusal check_unchanged(KernelText& text, const SiteTable& table, const Site& site);

/// Whether all that the site has written is there, to be taken back. Behind an int3 it has written
/// nothing: what another patcher has done there does not keep it.
bool may_leave_text(KernelText& text, const Site& site);

}  // namespace djprobe::kmod
