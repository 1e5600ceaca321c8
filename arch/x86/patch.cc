// SPDX-License-Identifier: GPL-2.0
#include "patch.h"

#include "emit.h"

namespace djprobe::x86 {

PatchSite make_breakpoint_site(const Plan& plan) {
    PatchSite site;
    site.address = plan.site;
    site.length = 1;
    site.original[0] = plan.first_bytes[0];
    return site;
}

namespace {

void finish(PatchSite& site, Emitter& jump, bool& reaches) {
    reaches = jump.ok();
    // Nothing runs the rest, but whoever disassembles the function must be able to go on.
    while (jump.size() < site.length)
        jump.byte(kInt3);
}

}  // namespace

Refusal make_jump_site(const Plan& plan, u64 entry, PatchSite& out) {
    out = PatchSite{};
    out.address = plan.anchor;
    out.length = plan.region.length;
    for (u8 i = 0; i < out.length; ++i)
        out.original[i] = plan.region.bytes[i];
    if (plan.anchor != plan.site) out.original[plan.site - plan.anchor] = kInt3;
    Emitter jump({out.jump, out.length}, plan.anchor);
    bool reaches;
    if (plan.tactic == Tactic::Springboard)
        jump.short_jump(plan.board);
    else
        jump.jump(entry);
    finish(out, jump, reaches);
    return reaches ? Refusal{} : Refusal{Reason::OUT_OF_REACH, plan.anchor};
}

Refusal make_board(const Plan& plan, u64 entry, PatchSite& out) {
    out = PatchSite{};
    out.address = plan.board;
    out.length = kJumpLength;
    for (size_t i = 0; i < kJumpLength; ++i)
        out.original[i] = plan.board_bytes[i];
    Emitter jump({out.jump, out.length}, plan.board);
    bool reaches;
    jump.jump(entry);
    finish(out, jump, reaches);
    return reaches ? Refusal{} : Refusal{Reason::OUT_OF_REACH, plan.board};
}

}  // namespace djprobe::x86
