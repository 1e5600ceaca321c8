// SPDX-License-Identifier: GPL-2.0
#include "plan.h"

#include "scan.h"

namespace djprobe::x86 {
namespace {

void copy_bytes(u8* to, Span<const u8> from, size_t count) {
    for (size_t i = 0; i < count; ++i)
        to[i] = from[i];
}

const Reserved* find_reserved(const Snapshot& snapshot, Range range) {
    for (const Reserved& reserved : snapshot.reserved)
        if (reserved.range.overlaps(range)) return &reserved;
    return nullptr;
}

/// Why an instruction can run nowhere but at its own address.
Refusal check_movable(const Insn& insn) {
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
Refusal check_last(const Insn& insn) {
    if (insn.kind == Kind::InterruptShadow) return Refusal{Reason::INTERRUPT_SHADOW, insn.address};
    return {};
}

/// Checks that decide whether the site may be probed by any means.
Refusal check_site(const Snapshot& snapshot, Plan& plan) {
    const Range function = snapshot.function.range();
    if (!function.contains(snapshot.site))
        return Refusal{Reason::PAST_END, function.begin, function.end};

    Boundary boundary;
    if (const Refusal refusal = find_boundary(snapshot.function, snapshot.site, boundary))
        return Refusal{Reason::UNDECODABLE, refusal.detail[0]};
    const u64 end = real_end(snapshot.function);
    if (snapshot.site >= end) return Refusal{Reason::PAST_END, function.begin, end};
    if (!boundary.is_start(snapshot.site))
        return Refusal{Reason::NOT_BOUNDARY, boundary.before, boundary.after};

    const Span<const u8> bytes = snapshot.function.from(snapshot.site);
    if (!decode(bytes, snapshot.site, plan.first))
        return Refusal{Reason::UNDECODABLE, snapshot.site};
    if (const Reserved* reserved = find_reserved(snapshot, {plan.site, plan.first.end()}))
        return Refusal{reserved->reason, snapshot.site};
    copy_bytes(plan.first_bytes, bytes, plan.first.length);
    if (const Refusal refusal = check_movable(plan.first)) return refusal;
    return check_last(plan.first);
}

/// Bytes behind an instruction that ends the flow: nobody runs them, if they are padding.
Refusal take_filler(const Snapshot& snapshot, Region& region) {
    for (u64 at = snapshot.site + region.length; region.length < kJumpLength; ++at) {
        const Span<const u8> byte = snapshot.function.from(at);
        if (byte.empty()) return Refusal{Reason::SHORT_REGION, snapshot.function.range().end};
        // Nops may be a patchable prefix of the next function; int3 is what compilers and linkers
        // put where nothing must ever run.
        if (byte[0] != kInt3) return Refusal{Reason::FILLER, at};
        if (const Reserved* reserved = find_reserved(snapshot, {at, at + 1}))
            return Refusal{Reason::REGION_RESERVED, at, static_cast<u64>(reserved->reason)};
        ++region.length;
    }
    return {};
}

/// Collect whole instructions until they cover the jump.
Refusal take_region(const Snapshot& snapshot, Region& region) {
    while (region.length < kJumpLength) {
        const u64 at = snapshot.site + region.length;
        const Span<const u8> bytes = snapshot.function.from(at);
        if (bytes.empty()) return Refusal{Reason::SHORT_REGION, snapshot.function.range().end};
        Insn& insn = region.insns[region.count];
        if (!decode(bytes, at, insn)) return Refusal{Reason::UNSCANNABLE, at};
        if (region.count > 0) {
            if (insn.kind == Kind::Endbr) return Refusal{Reason::ENDBR_IN_REGION, at};
            if (const Reserved* reserved = find_reserved(snapshot, {at, insn.end()}))
                return Refusal{Reason::REGION_RESERVED, at, static_cast<u64>(reserved->reason)};
            if (const Refusal refusal = check_movable(insn))
                return Refusal{Reason::REGION_RESERVED, at, static_cast<u64>(refusal.reason)};
        }
        ++region.count;
        region.length += insn.length;
        if (insn.is_terminal()) return take_filler(snapshot, region);
        // The callee would return between the jump's bytes.
        if (insn.is_call() && region.length < kJumpLength)
            return Refusal{Reason::CALL_IN_REGION, at};
    }
    // Padding that control falls into may be the next function's patchable prefix.
    const u64 end = real_end(snapshot.function);
    if (region.last().end() > end) return Refusal{Reason::SHORT_REGION, end};
    return check_last(region.last());
}

/// Nothing may arrive in the region but at its start. Behind the jump there is no instruction start
/// either, but bytes that the jump's filler replaces: a branch may skip a lock prefix.
Refusal check_arrivals(const Snapshot& snapshot, const Region& region) {
    const Range prohibited = {snapshot.site + 1, snapshot.site + region.length};
    for (const Landing& landing : snapshot.landings)
        if (prohibited.contains(landing.target))
            return Refusal{landing.reason, landing.source, landing.target};
    if (const Refusal refusal = find_branch_into(snapshot.function, prohibited)) return refusal;
    for (const Code& neighbour : snapshot.neighbours)
        if (const Refusal refusal = find_branch_into(neighbour, prohibited)) return refusal;
    return find_indirect_jump(snapshot);
}

Refusal check_jump(const Snapshot& snapshot, Plan& plan) {
    if (const Refusal refusal = take_region(snapshot, plan.region)) return refusal;
    if (const Refusal refusal = check_arrivals(snapshot, plan.region)) return refusal;
    copy_bytes(plan.region.bytes, snapshot.function.from(snapshot.site), plan.region.length);
    return {};
}

}  // namespace

Refusal make_plan(const Snapshot& snapshot, Plan& out) {
    out = Plan{};
    out.site = snapshot.site;
    if (const Refusal refusal = check_site(snapshot, out)) return refusal;
    out.jump = check_jump(snapshot, out);
    return {};
}

}  // namespace djprobe::x86
