// SPDX-License-Identifier: GPL-2.0
#include "kept_plan.h"

namespace djprobe::kmod {
namespace {

/// Of bytes that could be decoded when the plan was made.
x86::Insn decode_again(Span<const u8> bytes, u64 address) {
    x86::Insn insn;
    (void)x86::decode(bytes, address, insn);
    return insn;
}

}  // namespace

KeptPlan::KeptPlan(const x86::Plan& plan)
    : site(plan.site),
      anchor(plan.anchor),
      board(plan.board),
      jump(plan.jump),
      first_length(plan.first.length),
      tactic(plan.tactic),
      before(plan.before) {
    copy_bytes(first_bytes, plan.first_bytes);
    copy_bytes(board_bytes, plan.board_bytes);
    copy_bytes(region.bytes, plan.region.bytes);
    region.count = plan.region.count;
    region.length = plan.region.length;
    for (const x86::Insn& insn : plan.region.all())
        region.leads |= insn.rel_size || insn.taken_offset;
}

x86::Insn KeptPlan::first() const {
    return decode_again({first_bytes, first_length}, site);
}

x86::Plan KeptPlan::expand() const {
    x86::Plan plan;
    plan.site = site;
    plan.first = first();
    copy_bytes(plan.first_bytes, first_bytes);
    plan.jump = jump;
    plan.tactic = tactic;
    plan.anchor = anchor;
    plan.before = before;
    plan.board = board;
    copy_bytes(plan.board_bytes, board_bytes);
    copy_bytes(plan.region.bytes, region.bytes);
    plan.region.count = region.count;
    plan.region.length = region.length;
    const Span<const u8> bytes = {region.bytes, region.length};
    size_t at = 0;
    for (u8 i = 0; i < region.count; ++i) {
        plan.region.insns[i] = decode_again(bytes.from(at), anchor + at);
        at += plan.region.insns[i].length;
    }
    return plan;
}

}  // namespace djprobe::kmod
