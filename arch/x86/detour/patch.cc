// SPDX-License-Identifier: GPL-2.0
#include "patch.h"

#include "emit.h"

namespace djprobe::x86 {

PatchSite make_breakpoint_site(const PatchPlan& plan) {
    PatchSite site;
    site.address = plan.site;
    site.length = 1;
    site.original[0] = plan.first_byte;
    return site;
}

namespace {

Refusal finish(const PatchSite& site, Emitter& jump) {
    // No CPU runs the rest, but a disassembler of the function must be able to go on behind it.
    while (jump.size() < site.length)
        jump.byte(kInt3);
    return jump.ok() ? Refusal{} : Refusal{Reason::OUT_OF_REACH, site.address};
}

}  // namespace

Refusal make_jump_site(const PatchPlan& plan, u64 entry, PatchSite& out) {
    out = PatchSite{};
    out.address = plan.anchor;
    out.length = static_cast<u8>(plan.region.size());
    copy_bytes(out.original, plan.region);
    if (plan.anchor != plan.site) out.original[plan.site - plan.anchor] = kInt3;
    Emitter jump({out.jump, out.length}, plan.anchor);
    if (plan.tactic == Tactic::Springboard)
        jump.short_jump(plan.board);
    else
        jump.jump(entry);
    return finish(out, jump);
}

Refusal make_board(const PatchPlan& plan, u64 entry, PatchSite& out) {
    out = PatchSite{};
    out.address = plan.board;
    out.length = kJumpLength;
    copy_bytes(out.original, plan.board_bytes);
    Emitter jump({out.jump, out.length}, plan.board);
    jump.jump(entry);
    return finish(out, jump);
}

}  // namespace djprobe::x86
