// SPDX-License-Identifier: GPL-2.0
// From a plan to a site that can be armed: its slot, its code, the bytes of its text.
#include "transition.h"

namespace djprobe::kmod {

/// Emit the site's code into a slot of its own and prepare the bytes of its text. The cores do not
/// know of the slot's new content yet.
Refusal Registry::build(Site& site) {
    const djk_machine& machine = analyst_.machine();
    const x86::DetourConfig config = {
        .handler = machine.hit_handler,
        .argument = reinterpret_cast<u64>(&site.hit),
        .cs = machine.cs,
        .ss = machine.ss,
        .smap = machine.smap,
    };
    const auto emit = [&](u64 address, Span<u8> out) {
        return site.plan.may_jump() ? emit_detour(site.plan, config, address, out, site.layout)
                                    : emit_out_of_line(site.plan, address, out, site.layout);
    };
    u8 code[x86::kMaxDetour];
    // A first pass for the size, which does not depend on the place.
    if (const Refusal refusal = emit(machine.hit_handler, code)) {
        if (!site.plan.may_jump()) return refusal;
        site.plan.jump = refusal;
        return build(site);
    }
    site.slot = slots_.take(site.layout.size);
    if (!site.slot) return Refusal{Reason::NO_MEMORY};
    if (const Refusal refusal = emit(site.slot.address(), code)) return refusal;
    if (const Refusal refusal = prepare_patches(site)) return refusal;
    KernelText text;
    text.write(site.slot.address(), {code, site.layout.size});
    return {};
}

Refusal Registry::prepare_patches(Site& site) {
    site.breakpoint = make_breakpoint_site(site.plan);
    site.trap.hit.site = &site.hit;
    set_resume(site, site.out_of_line());
    if (!site.plan.may_jump()) return {};
    if (const Refusal refusal = make_jump_site(site.plan, site.entry(), site.jump)) return refusal;
    if (site.slides()) site.anchor.hit = {site.plan.anchor, site.entry(), nullptr};
    if (site.plan.tactic == x86::Tactic::Springboard)
        return make_board(site.plan, site.entry(), site.board);
    return {};
}

}  // namespace djprobe::kmod
