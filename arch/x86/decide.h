// SPDX-License-Identifier: GPL-2.0
// The rules: what makes an address a site, and a site safe for a jump. Written once, for everybody
// who can describe the surroundings of a site: one site of the running kernel, or all of them.
#pragma once

#include "plan.h"
#include "scan.h"

namespace djprobe::x86 {

/// What the rules ask about a site's surroundings.
template <class S>
concept SiteSurroundings = requires(const S& s, u64 address, Range range, Boundary& boundary) {
    static_cast<Code>(s.function());  // the whole symbol that holds the site
    // Instruction boundaries around an address of the function.
    static_cast<Refusal>(s.boundary(address, boundary));
    static_cast<u64>(s.end());  // of the function's last instruction that is not padding
    static_cast<const Reserved*>(s.reserved(range));  // one that overlaps the range, or nullptr
    // Control may arrive in the range, other than by falling through; or that is not known.
    static_cast<Refusal>(s.arrival(range));
    static_cast<Refusal>(s.indirect_jump());  // one that may lead anywhere within the function
};

namespace rules {

inline void copy_bytes(u8* to, Span<const u8> from, size_t count) {
    for (size_t i = 0; i < count; ++i)
        to[i] = from[i];
}

/// Why an instruction can run nowhere but at its own address.
constexpr Refusal check_movable(const Insn& insn) {
    switch (insn.kind) {
        case Kind::Int3:
        case Kind::Trap:
            return Refusal{Reason::TRAP_INSN, insn.address};
        case Kind::Endbr:
            return Refusal{Reason::ENDBR, insn.address};
        case Kind::SystemFlow:
            return Refusal{Reason::SYSTEM_FLOW, insn.address};
        case Kind::Transaction:
            return Refusal{Reason::NOT_RELOCATABLE, insn.address};
        case Kind::IndirectCall:
            // Its return address is pushed before its operand is read: rsp would be off by 8.
            if (insn.stack_relative) return Refusal{Reason::NOT_RELOCATABLE, insn.address};
            break;
        default:
            break;
    }
    if (insn.immovable) return Refusal{Reason::NOT_RELOCATABLE, insn.address};
    return {};
}

/// An instruction that must be followed by its own successor may not be followed by our jump.
constexpr Refusal check_last(const Insn& insn) {
    if (insn.kind == Kind::InterruptShadow) return Refusal{Reason::INTERRUPT_SHADOW, insn.address};
    return {};
}

/// Checks that decide whether the site may be probed by any means.
template <SiteSurroundings S>
Refusal check_site(const S& around, Plan& plan) {
    const Range function = around.function().range();
    if (!function.contains(plan.site))
        return Refusal{Reason::PAST_END, function.begin, function.end};

    Boundary boundary;
    if (const Refusal refusal = around.boundary(plan.site, boundary))
        return Refusal{Reason::UNDECODABLE, refusal.detail[0]};
    const u64 end = around.end();
    if (plan.site >= end) return Refusal{Reason::PAST_END, function.begin, end};
    if (!boundary.is_start(plan.site))
        return Refusal{Reason::NOT_BOUNDARY, boundary.before, boundary.after};

    const Span<const u8> bytes = around.function().from(plan.site);
    if (!decode(bytes, plan.site, plan.first)) return Refusal{Reason::UNDECODABLE, plan.site};
    if (const Reserved* reserved = around.reserved({plan.site, plan.first.end()}))
        return Refusal{reserved->reason, plan.site};
    copy_bytes(plan.first_bytes, bytes, plan.first.length);
    if (const Refusal refusal = check_movable(plan.first)) return refusal;
    return check_last(plan.first);
}

/// Bytes behind an instruction that ends the flow: nobody runs them, if they are padding.
template <SiteSurroundings S>
Refusal take_filler(const S& around, u64 site, Region& region) {
    for (u64 at = site + region.length; region.length < kJumpLength; ++at) {
        const Span<const u8> byte = around.function().from(at);
        if (byte.empty()) return Refusal{Reason::SHORT_REGION, around.function().range().end};
        // Nops may be a patchable prefix of the next function; int3 is what compilers and linkers
        // put where nothing must ever run.
        if (byte[0] != kInt3) return Refusal{Reason::FILLER, at};
        if (const Reserved* reserved = around.reserved({at, at + 1}))
            return Refusal{Reason::REGION_RESERVED, at, static_cast<u64>(reserved->reason)};
        ++region.length;
    }
    return {};
}

/// Collect whole instructions until they cover the jump.
template <SiteSurroundings S>
Refusal take_region(const S& around, u64 site, Region& region) {
    while (region.length < kJumpLength) {
        const u64 at = site + region.length;
        const Span<const u8> bytes = around.function().from(at);
        if (bytes.empty()) return Refusal{Reason::SHORT_REGION, around.function().range().end};
        Insn& insn = region.insns[region.count];
        if (!decode(bytes, at, insn)) return Refusal{Reason::UNSCANNABLE, at};
        if (region.count > 0) {
            if (insn.kind == Kind::Endbr) return Refusal{Reason::ENDBR_IN_REGION, at};
            if (const Reserved* reserved = around.reserved({at, insn.end()}))
                return Refusal{Reason::REGION_RESERVED, at, static_cast<u64>(reserved->reason)};
            if (const Refusal refusal = check_movable(insn))
                return Refusal{Reason::REGION_RESERVED, at, static_cast<u64>(refusal.reason)};
        }
        ++region.count;
        region.length += insn.length;
        if (insn.is_terminal()) return take_filler(around, site, region);
        // The callee would return between the jump's bytes.
        if (insn.is_call() && region.length < kJumpLength)
            return Refusal{Reason::CALL_IN_REGION, at};
    }
    // Padding that control falls into may be the next function's patchable prefix.
    const u64 end = around.end();
    if (region.last().end() > end) return Refusal{Reason::SHORT_REGION, end};
    return check_last(region.last());
}

/// The jump at the IA itself: the five bytes from there on.
template <SiteSurroundings S>
Refusal check_jump(const S& around, Plan& plan) {
    Region& region = plan.region;
    if (const Refusal refusal = take_region(around, plan.site, region)) return refusal;
    // Nothing may arrive in the region but at its start. Behind the jump there is no instruction
    // start either, but bytes that its filler replaces: a branch may skip a lock prefix.
    if (const Refusal refusal = around.arrival({plan.site + 1, plan.site + region.length}))
        return refusal;
    if (const Refusal refusal = around.indirect_jump()) return refusal;
    copy_bytes(region.bytes, around.function().from(plan.site), region.length);
    return {};
}

}  // namespace rules

/// Decide about one site; see make_plan().
template <SiteSurroundings S>
Refusal decide(const S& around, u64 site, Plan& out) {
    out = Plan{};
    out.site = site;
    if (const Refusal refusal = rules::check_site(around, out)) return refusal;
    out.jump = rules::check_jump(around, out);
    return {};
}

}  // namespace djprobe::x86
