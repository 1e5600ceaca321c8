// SPDX-License-Identifier: GPL-2.0
#include "text_checks.h"

namespace djprobe::kmod {

Refusal check_written(KernelText& text, const Site& site) {
    // The byte of a kprobe is the kernel's.
    if (site.joins_kprobe()) return {};
    if (site.state == State::Optimized) {
        if (const Refusal refusal = find_kprobe(site.region())) return refusal;
        if (site.board_entry)
            if (const Refusal refusal = check_text(text, site.written_board(), TextForm::Jump))
                return refusal;
        return check_text(text, site.jump(), TextForm::Jump);
    }
    if (site.anchor_armed && !text.matches(site.anchor.address, {&x86::kInt3, 1}))
        return Refusal{Reason::FOREIGN_PATCH, site.anchor.address};
    return check_text(text, site.breakpoint(), TextForm::Breakpoint);
}

Refusal check_to_optimize(KernelText& text, const Site& site) {
    if (const Refusal refusal = check_written(text, site)) return refusal;
    // In a slide's region the int3 of the IA counts as original, and its anchor's int3 comes later.
    const TextForm form =
        site.slides() && !site.anchor_armed ? TextForm::Original : TextForm::Breakpoint;
    if (const Refusal refusal = check_text(text, site.jump(), form)) return refusal;
    // A kprobe right before the region may be about to get a jump of its own.
    if (const Refusal refusal = find_kprobe_over(site.region())) return refusal;
    if (!site.has_board()) return {};
    const x86::PatchSite board = site.board_to(site.code.entry());
    // A kprobe that is not in the text keeps a copy of what it found there.
    if (const Refusal refusal = find_kprobe_over({board.address, board.address + board.length}))
        return refusal;
    return site.board_entry ? check_text(text, site.written_board(), TextForm::Jump)
                            : check_text(text, board, TextForm::Original);
}

/// The original byte at `address` as a plan knows it, or -1.
static int planned_byte(const KeptPlan& plan, u64 address) {
    if (address - plan.site < plan.first_length) return plan.first_bytes[address - plan.site];
    if (!plan.may_jump()) return -1;
    if (address - plan.anchor < plan.region.length) return plan.region.bytes[address - plan.anchor];
    const bool on_board = plan.board && address - plan.board < x86::kJumpLength;
    return on_board ? plan.board_bytes[address - plan.board] : -1;
}

Refusal check_unchanged(KernelText& text, const SiteTable& table, const Site& site) {
    const auto compare = [&](u64 address, Span<const u8> bytes) {
        for (size_t i = 0; i < bytes.size(); ++i) {
            const u64 at = address + i;
            if (text.matches(at, {&bytes[i], 1})) continue;
            // Another site of ours may have changed the byte, and know that it was the same.
            bool ours = false;
            table.for_each_near({at, at + 1}, [&](const Site& other) {
                if (&other != &site && is_live(other.state))
                    ours |= planned_byte(other.plan, at) == bytes[i];
            });
            if (!ours) return Refusal{Reason::FOREIGN_PATCH, at};
        }
        return Refusal{};
    };
    const KeptPlan& plan = site.plan;
    if (const Refusal refusal = compare(plan.site, {plan.first_bytes, plan.first_length}))
        return refusal;
    return plan.may_jump() ? compare(plan.anchor, {plan.region.bytes, plan.region.length})
                           : Refusal{};
}

}  // namespace djprobe::kmod
