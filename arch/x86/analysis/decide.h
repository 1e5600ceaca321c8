// SPDX-License-Identifier: GPL-2.0
// The rules: what makes an address a site, and a site safe for a jump. They stand here once. The
// module, the survey and `probeload explain` all call decide(); each describes the surroundings of
// a site in its own way, and each may listen to the decision (a tracer).
#pragma once

#include "../insn/scan.h"
#include "plan.h"

namespace djprobe::x86 {

/// What the rules ask about a site's surroundings.
template <class S>
concept SiteSurroundings = requires(const S& s, u64 address, Range range, Boundary& boundary,
                                    u8* bytes) {
    static_cast<Code>(s.function());  // the whole symbol that holds the site
    // Instruction boundaries around an address of the function.
    static_cast<Refusal>(s.boundary(address, boundary));
    static_cast<u64>(s.end());  // of the function's last instruction that is not padding
    static_cast<bool>(s.is_past_end(address));
    static_cast<const Reserved*>(s.reserved(range));  // one that overlaps the range, or nullptr
    // Control may arrive in the range, other than by falling through; or that is not known.
    static_cast<Refusal>(s.arrival(range));
    static_cast<Refusal>(s.indirect_jump());  // one that may lead anywhere within the function
    // Five dead bytes within a range (all of them) and what they hold, or 0.
    static_cast<u64>(s.find_board(range, bytes));
    static_cast<u8>(s.tactics());
};

/// The address of five bytes within `reach` and `padding`, which is the dead padding behind `code`,
/// that have no owner and where control does not arrive; copies them to `bytes`. 0: there are none.
template <class S>
u64 find_board_in(const S& around, const Code& code, Range padding, Range reach, u8* bytes) {
    u64 board = padding.begin > reach.begin ? padding.begin : reach.begin;
    for (; board + kJumpLength <= padding.end && board + kJumpLength <= reach.end; ++board) {
        const Range range = {board, board + kJumpLength};
        if (around.reserved(range) || around.arrival(range)) continue;
        copy_bytes(bytes, code.from(board).first(kJumpLength));
        return board;
    }
    return 0;
}

/// The questions of decide(), in the order in which it asks them. The caller asks the first one:
/// only it has the kernel's lists.
enum class Rule : u8 {
    Text,          ///< May the function take probes at all?
    Function,      ///< Does the function hold the site?
    Decodable,     ///< Can the function be decoded up to the site?
    End,           ///< Does the site lie before the padding at the function's end?
    Boundary,      ///< Does an instruction begin at the site?
    Owner,         ///< Does the kernel leave the site's instruction as it is?
    Movable,       ///< Can the instruction run elsewhere, with our jump behind it?
    Region,        ///< Can all instructions be displaced that the jump overwrites?
    Arrival,       ///< Does control arrive in the region at its first byte only?
    IndirectJump,  ///< Is there no indirect jump that may lead into the region?
};

/// What a tracer of decide() is told.
template <class T>
concept DecisionTracer = requires(T& tracer, Rule rule, const Plan& plan, const Refusal& answer) {
    // The rule's answer; from Region on about plan.tactic, with plan.anchor.
    tracer.asked(rule, plan, answer);
    // Whether plan.tactic gives a jump. The refusals asked before it say why not.
    tracer.tried(plan, true);
};

/// Listens to nothing and costs nothing.
struct NoTracer {
    constexpr void asked(Rule, const Plan&, const Refusal&) const {}
    constexpr void tried(const Plan&, bool) const {}
};

namespace rules {

/// Hand an answer on, past the tracer.
template <DecisionTracer T>
constexpr Refusal tell(T& tracer, Rule rule, const Plan& plan, const Refusal& answer) {
    tracer.asked(rule, plan, answer);
    return answer;
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

/// The symbol that holds the site.
template <SiteSurroundings S>
Refusal check_function(const S& around, u64 site) {
    const Range function = around.function().range();
    if (function.contains(site)) return {};
    return Refusal{Reason::PAST_END, function.begin, function.end};
}

template <SiteSurroundings S>
Refusal check_end(const S& around, u64 site) {
    if (!around.is_past_end(site)) return {};
    return Refusal{Reason::PAST_END, around.function().range().begin, around.end()};
}

constexpr Refusal check_boundary(const Boundary& boundary, u64 site) {
    if (boundary.is_start(site)) return {};
    return Refusal{Reason::NOT_BOUNDARY, boundary.before, boundary.after};
}

/// The instruction boundaries around the site.
template <SiteSurroundings S>
Refusal find_boundary_of(const S& around, u64 site, Boundary& boundary) {
    const Refusal refusal = around.boundary(site, boundary);
    return refusal ? Refusal{Reason::UNDECODABLE, refusal.detail[0]} : Refusal{};
}

template <SiteSurroundings S>
Refusal check_owner(const S& around, const Insn& insn) {
    const Reserved* reserved = around.reserved({insn.address, insn.end()});
    return reserved ? Refusal{reserved->reason, insn.address} : Refusal{};
}

/// Checks that decide whether the site may be probed by any means.
template <SiteSurroundings S, DecisionTracer T>
Refusal check_site(const S& around, Plan& plan, T& tracer) {
    const auto ask = [&](Rule rule, const Refusal& answer) {
        return tell(tracer, rule, plan, answer);
    };
    const u64 site = plan.site;
    Boundary boundary;
    if (const Refusal no = ask(Rule::Function, check_function(around, site))) return no;
    if (const Refusal no = ask(Rule::Decodable, find_boundary_of(around, site, boundary)))
        return no;
    if (const Refusal no = ask(Rule::End, check_end(around, site))) return no;
    if (const Refusal no = ask(Rule::Boundary, check_boundary(boundary, site))) return no;

    const Span<const u8> bytes = around.function().from(site);
    if (!decode(bytes, site, plan.first))
        return ask(Rule::Decodable, Refusal{Reason::UNDECODABLE, site});
    if (const Refusal no = ask(Rule::Owner, check_owner(around, plan.first))) return no;
    copy_bytes(plan.first_bytes, bytes.first(plan.first.length));
    const Refusal fixed = check_movable(plan.first);
    return ask(Rule::Movable, fixed ? fixed : check_last(plan.first));
}

/// Bytes behind an instruction that ends the flow: no CPU runs them, if they are padding.
template <SiteSurroundings S>
Refusal take_filler(const S& around, u64 anchor, size_t wanted, Region& region) {
    for (u64 at = anchor + region.length; region.length < wanted; ++at) {
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

/// May this instruction be displaced? The IA's own has been checked with the site.
template <SiteSurroundings S>
Refusal check_displaced(const S& around, const Insn& insn, u64 site) {
    if (insn.address == site) return {};
    if (insn.kind == Kind::Endbr) return Refusal{Reason::ENDBR_IN_REGION, insn.address};
    if (const Reserved* reserved = around.reserved({insn.address, insn.end()}))
        return Refusal{Reason::REGION_RESERVED, insn.address, static_cast<u64>(reserved->reason)};
    if (const Refusal refusal = check_movable(insn))
        return Refusal{Reason::REGION_RESERVED, insn.address, static_cast<u64>(refusal.reason)};
    return {};
}

/// Collect whole instructions from plan.anchor on until they cover `wanted` bytes and the IA's
/// instruction.
template <SiteSurroundings S>
Refusal take_region(const S& around, size_t wanted, Plan& plan) {
    Region& region = plan.region;
    region = Region{};
    const u64 until = plan.first.end() - plan.anchor;
    if (until > wanted) wanted = until;
    while (region.length < wanted) {
        const u64 at = plan.anchor + region.length;
        const Span<const u8> bytes = around.function().from(at);
        if (bytes.empty()) return Refusal{Reason::SHORT_REGION, around.function().range().end};
        if (region.count == kMaxRegionInsns) return Refusal{Reason::SHORT_REGION, at};
        Insn& insn = region.insns[region.count];
        if (!decode(bytes, at, insn)) return Refusal{Reason::UNSCANNABLE, at};
        if (region.length + insn.length > kMaxRegion) return Refusal{Reason::SHORT_REGION, at};
        if (const Refusal refusal = check_displaced(around, insn, plan.site)) return refusal;
        ++region.count;
        region.length = static_cast<u8>(region.length + insn.length);
        if (insn.is_terminal()) return take_filler(around, plan.anchor, wanted, region);
        // The callee would return between the jump's bytes.
        if (insn.is_call() && region.length < wanted) return Refusal{Reason::CALL_IN_REGION, at};
    }
    // Padding that control falls into may be the next function's patchable prefix.
    if (around.is_past_end(region.last().address))
        return Refusal{Reason::SHORT_REGION, around.end()};
    return check_last(region.last());
}

/// The common half of all tactics: the region from the anchor on can be displaced, and nothing
/// arrives in it but at its start. Behind the jump there is no instruction start either, but bytes
/// that its filler replaces: a branch may skip a lock prefix.
template <SiteSurroundings S, DecisionTracer T>
Refusal check_region(const S& around, size_t wanted, Plan& plan, T& tracer) {
    const auto ask = [&](Rule rule, const Refusal& answer) {
        return tell(tracer, rule, plan, answer);
    };
    if (const Refusal no = ask(Rule::Region, take_region(around, wanted, plan))) return no;
    const Range behind = {plan.anchor + 1, plan.anchor + plan.region.length};
    if (const Refusal no = ask(Rule::Arrival, around.arrival(behind))) return no;
    if (const Refusal no = ask(Rule::IndirectJump, around.indirect_jump())) return no;
    copy_bytes(plan.region.bytes, around.function().from(plan.anchor).first(plan.region.length));
    return {};
}

/// The jump at the IA itself.
template <SiteSurroundings S, DecisionTracer T>
Refusal try_window(const S& around, Plan& plan, T& tracer) {
    plan.tactic = Tactic::Window;
    plan.anchor = plan.site;
    const Refusal refusal = check_region(around, kJumpLength, plan, tracer);
    tracer.tried(plan, !refusal);
    return refusal;
}

/// The jump at an earlier instruction from which control can only fall through to the IA, or leave.
/// Proof: check_region() shows that control does not arrive behind the anchor, the IA included. So
/// a task that reaches the IA has come through the anchor, and the detour calls the handler on that
/// way.
template <SiteSurroundings S, DecisionTracer T>
bool find_slide(const S& around, Plan& plan, T& tracer) {
    plan.tactic = Tactic::Slide;
    plan.anchor = plan.site;
    for (plan.before = 1; plan.before < kMaxRegionInsns; ++plan.before) {
        if (plan.anchor == around.function().address) break;
        Boundary previous;
        if (around.boundary(plan.anchor - 1, previous)) break;
        plan.anchor = previous.before;
        if (plan.first.end() - plan.anchor > kMaxRegion) break;
        // Farther back the same obstacle would still lie in between.
        const Range between = {plan.anchor + 1, plan.site + 1};
        if (tell(tracer, Rule::Arrival, plan, around.arrival(between))) break;
        if (check_region(around, kJumpLength, plan, tracer)) continue;
        // Between an instruction and its successor the handler may not come either.
        const Insn& last = plan.region.insns[plan.before - 1];
        if (tell(tracer, Rule::Movable, plan, check_last(last))) break;
        return true;
    }
    plan.before = 0;
    return false;
}

/// A short jump at the IA to five dead bytes that hold the long one. Proof: the two bytes as any
/// region; the five: find_board().
template <SiteSurroundings S, DecisionTracer T>
bool find_springboard(const S& around, Plan& plan, T& tracer) {
    plan.tactic = Tactic::Springboard;
    plan.anchor = plan.site;
    if (check_region(around, kShortJumpLength, plan, tracer)) return false;
    const u64 origin = plan.site + kShortJumpLength;
    // The region may have filler of its own, which the short jump's second byte replaces.
    const Range behind = {plan.anchor + plan.region.length, origin + 127 + kJumpLength};
    const Range before = {origin - 128, plan.anchor};
    plan.board = around.find_board(behind, plan.board_bytes);
    if (!plan.board) plan.board = around.find_board(before, plan.board_bytes);
    return plan.board != 0;
}

/// Try the tactics, cheapest first. The refusal is the plain window's: that is what the reader of a
/// verdict can check.
template <SiteSurroundings S, DecisionTracer T>
Refusal check_jump(const S& around, Plan& plan, T& tracer) {
    const Refusal window = try_window(around, plan, tracer);
    const auto fits = [&](Tactic tactic, auto find) {
        if (!(around.tactics() & tactic_bit(tactic))) return false;
        const bool found = find(around, plan, tracer);
        tracer.tried(plan, found);
        return found;
    };
    if (!window || fits(Tactic::Slide, find_slide<S, T>) ||
        fits(Tactic::Springboard, find_springboard<S, T>))
        return {};
    plan.tactic = Tactic::Window;
    plan.anchor = plan.site;
    plan.region = Region{};
    return window;
}

}  // namespace rules

/// Decide about one site; see make_plan(). The tracer hears each rule with its answer and each
/// tactic with its outcome.
template <SiteSurroundings S, DecisionTracer T = const NoTracer>
Refusal decide(const S& around, u64 site, Plan& out, T&& tracer = {}) {
    out = Plan{};
    out.site = site;
    if (const Refusal refusal = rules::check_site(around, out, tracer)) return refusal;
    out.jump = rules::check_jump(around, out, tracer);
    return {};
}

}  // namespace djprobe::x86
