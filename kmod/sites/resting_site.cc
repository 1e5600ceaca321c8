// SPDX-License-Identifier: GPL-2.0
#include "resting_site.h"

namespace djprobe::kmod {

bool RestingSite::fits(const KeptPlan& plan) {
    // The first instruction's bytes are among the region's.
    return plan.may_jump() && plan.tactic != x86::Tactic::Springboard &&
           plan.site - plan.anchor + plan.first_length <= plan.region.length &&
           plan.region.length <= kMostBytes;
}

void RestingSite::keep(const KeptPlan& plan, const x86::Live& alive, const SiteCode& code) {
    patch.original = bytes;
    patch.address = plan.anchor;
    patch.length = plan.region.length;
    for (u8 i = 0; i < patch.length; ++i)
        bytes[i] = plan.region.bytes[i];
    const x86::DetourLayout& offsets = code.layout;
    const auto small = [](u16 offset) { return static_cast<u8>(offset); };
    layout = {small(offsets.entry),   small(offsets.call),      small(offsets.handler),
              small(offsets.restore), small(offsets.displaced), small(offsets.out_of_line),
              small(offsets.cold),    small(offsets.size)};
    live = alive;
    kept = code.shape.kept;
    count = plan.region.count;
    first_length = plan.first_length;
    to_ia = static_cast<u8>(plan.site - plan.anchor);
    before = plan.before;
    leads = plan.region.leads;
}

KeptPlan RestingSite::plan() const {
    KeptPlan made;
    made.site = address();
    made.anchor = region().begin;
    made.tactic = tactic();
    made.before = before;
    made.first_length = first_length;
    made.region.count = count;
    made.region.length = patch.length;
    made.region.leads = leads;
    for (u8 i = 0; i < patch.length; ++i)
        made.region.bytes[i] = bytes[i];
    // The region holds whole instructions.
    for (u8 i = 0; i < first_length; ++i)
        made.first_bytes[i] = bytes[to_ia + i];
    return made;
}

x86::DetourLayout RestingSite::detour() const {
    return {.entry = layout.entry,
            .call = layout.call,
            .handler = layout.handler,
            .restore = layout.restore,
            .displaced = layout.displaced,
            .out_of_line = layout.out_of_line,
            .cold = layout.cold,
            .size = layout.size};
}

}  // namespace djprobe::kmod
