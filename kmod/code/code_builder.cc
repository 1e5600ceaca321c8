// SPDX-License-Identifier: GPL-2.0
// From a plan to code that can run: the slot, its content, the bytes of the text that lead there.
#include "../sites/transition.h"

namespace djprobe::kmod {

/// What the code of a site with these handlers, and with `joining`, should be made for.
Shape Registry::wanted_shape(const Site& site, const djk_handler* joining) {
    Shape shape;
    shape.wants = site.joining_wants;
    size_t count = site.joining;
    const auto take = [&](const djk_handler* handler) {
        shape.direct = ++count == 1 ? handler : nullptr;
        shape.wants |= handler->wants;
    };
    for (const djk_handler* handler = site.hit.probes; handler; handler = handler->next)
        take(handler);
    if (joining) take(joining);
    x86::DirectConfig config;
    if (!site.plan.may_jump() || shape.wants ||
        (shape.direct && !calls_.describe(analyst_.machine(), shape.direct, config)))
        shape.direct = nullptr;
    return shape;
}

Refusal Registry::emit(const Site& site, const SiteCode& code, u64 address, Span<u8> out,
                       x86::DetourLayout& layout) {
    const djk_machine& machine = analyst_.machine();
    const u64 argument = reinterpret_cast<u64>(&site.hit);
    const x86::DetourConfig config = {
        .handler = machine.hit_handler,
        .argument = argument,
        .redirects = (code.shape.wants & DJK_WANTS_REDIRECT) != 0,
        .after = (code.shape.wants & DJK_WANTS_AFTER) != 0,
        .after_argument = argument | DJK_AFTER,
        .cs = machine.cs,
        .ss = machine.ss,
        .smap = machine.smap,
        .return_thunk = machine.return_thunk,
    };
    if (!site.plan.may_jump()) return emit_out_of_line(site.plan, config, address, out, layout);
    x86::DirectConfig direct;
    if (!code.shape.direct || !calls_.describe(machine, code.shape.direct, direct))
        return emit_detour(site.plan, config, address, out, layout);
    return emit_direct_detour(site.plan, direct, site.live, address, out, layout);
}

/// Make the code that `code.shape` asks for. It is in its slot when the writer has been flushed,
/// and the cores do not know of it then.
Refusal Registry::build(const Site& site, SiteCode& code) {
    u8 bytes[x86::kMaxDetour];
    // A first pass for the size, which does not depend on the place.
    if (const Refusal refusal =
            emit(site, code, analyst_.machine().hit_handler, bytes, code.layout))
        return refusal;
    code.slot = slots_.take(code.layout.size);
    if (!code.slot) return Refusal{Reason::NO_MEMORY};
    if (const Refusal refusal = emit(site, code, code.slot.address(), bytes, code.layout))
        return refusal;
    if (site.plan.may_jump())
        if (const Refusal refusal = make_jump_site(site.plan, code.entry(), code.jump))
            return refusal;
    if (site.plan.may_jump() && site.plan.tactic == x86::Tactic::Springboard)
        if (const Refusal refusal = make_board(site.plan, code.entry(), code.board)) return refusal;
    writer_.add(code.slot.address(), {bytes, code.layout.size});
    return {};
}

/// Let hits at int3 continue in the site's code.
void Registry::lead_to_code(Site& site) {
    site.trap.site = &site.hit;
    set_resume(site, site.out_of_line());
    // Its link stays: a hit that began before it left the table may stand on it.
    site.anchor.address = site.plan.anchor;
    site.anchor.resume = site.slides() ? site.code.entry() : 0;
}

/// Replace the code of a site by what its handlers, with `joining`, want now. A jump gives way to
/// int3 and comes back by settle(). On a refusal nothing has changed.
Refusal Registry::reshape(Site& site, const djk_handler* joining) {
    if (site.joins_kprobe()) return {};
    SiteCode code;
    code.shape = wanted_shape(site, joining);
    if (code.shape == site.code.shape) return {};
    Box<OldSlot> old = Box<OldSlot>::create();
    if (!old) return Refusal{Reason::NO_MEMORY};
    if (const Refusal refusal = build(site, code)) return refusal;
    writer_.flush();
    if (is_live(site.state)) {
        KernelText text;
        if (const Refusal refusal = check_site_text(text, site)) return refusal;
        text.sync_cores();
        if (site.wants_jump()) back_to_int3(text, site);
    }
    old->slot = static_cast<Slot&&>(site.code.slot);
    site.code = static_cast<SiteCode&&>(code);
    lead_to_code(site);
    garbage_.add(old.release());
    djk_optimizer_kick();
    return {};
}

}  // namespace djprobe::kmod
