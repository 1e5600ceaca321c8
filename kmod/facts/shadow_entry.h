// SPDX-License-Identifier: GPL-2.0
// Where a function's return address may be replaced.
#pragma once

#include "analyst.h"

namespace djprobe::kmod {

/// A function and where its entry probe would be.
struct ShadowEntry {
    u64 function;
    u64 site;
};

/// Whether every call reaches the site once, with the stack pointer at its return address, and
/// returns to that address as the same task. Refusals: djk_forbidden()'s, NO_FUNCTION,
/// SPECIAL_RETURN, NO_SHADOW, NO_RETURN, ENTRY_AGAIN, UNSCANNABLE, NO_INDEX, NO_MEMORY. Under the
/// registry lock; the caller has pinned the function's module.
Refusal check_shadow_entry(const ShadowEntry& entry, Analyst& analyst, const OwnText& ours);

}  // namespace djprobe::kmod
