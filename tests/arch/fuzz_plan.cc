// SPDX-License-Identifier: GPL-2.0
// libFuzzer: any bytes as a function, any of them as the site. Nothing may crash, and whatever is
// planned must keep the promises of the headers.
#include <initializer_list>

#include "arch/x86/detour/detour.h"
#include "arch/x86/detour/patch.h"
#include "arch/x86/insn/scan.h"
#include "tests/arch/support/fuzz.h"
#include "tests/fuzz/require.h"

namespace {

using namespace djprobe;
using namespace djprobe::x86;
using test::require;

/// What the input's first bytes decide; the rest is code.
struct Input {
    u8 site;
    u8 landing;
    u8 reserved;
    u8 flags;
};

enum : u8 {
    kHasLanding = 1,
    kHasReserved = 2,
    kNoJumpTables = 4,
    kTacticsShift = 3,  ///< two bits: slide, springboard
    kHasMore = 32,
};

/// With kHasMore, behind the first: neighbours and more facts.
struct More {
    u8 before;       ///< bytes of the code that are a function before
    u8 after;        ///< ... and one behind
    u8 landings[3];  ///< from the first byte of the function before on, like `reserved`
    u8 reserved;
    u8 reserved_size;  ///< less one
};

/// The text around the site, and all that the plan is told.
struct World {
    Code text;  ///< all of it
    Code function;
    Code neighbours[2];
    size_t neighbour_count = 0;
    Landing landings[4];
    size_t landing_count = 0;
    Reserved reserved[2];
    size_t reserved_count = 0;

    Span<const Landing> all_landings() const { return {landings, landing_count}; }
    Span<const Reserved> all_reserved() const { return {reserved, reserved_count}; }
};

/// Nothing may arrive in a range: not by a landing, not by any branch of the text. Behind bytes
/// that are no instruction one may begin anywhere.
void check_no_arrival(const World& world, const Code& function, Range range) {
    bool lost = false;
    for (u64 at = function.address; at < function.range().end;) {
        Insn insn;
        if (decode(function.from(at), at, insn))
            require(!insn.rel_size || !range.contains(insn.target), "no branch arrives");
        else
            lost = true;
        at += lost ? 1u : insn.length;
    }
    for (const Landing& landing : world.all_landings())
        require(!range.contains(landing.target), "nothing lands");
}

void check_claimed(const World& world, Range arrivals, Range owned) {
    check_no_arrival(world, world.function, arrivals);
    for (size_t i = 0; i < world.neighbour_count; ++i)
        check_no_arrival(world, world.neighbours[i], arrivals);
    for (const Reserved& reserved : world.all_reserved())
        require(!reserved.range.overlaps(owned), "claimed bytes have no owner");
}

void check_region(const Plan& plan, const World& world) {
    const Region& region = plan.region;
    const size_t least = plan.tactic == Tactic::Springboard ? kShortJumpLength : kJumpLength;
    require(region.length >= least && region.length <= kMaxRegion, "region length");
    require(region.count >= 1 && region.count <= kMaxRegionInsns, "region count");
    const Range range = {plan.anchor, plan.anchor + region.length};
    require(range.contains(plan.site), "the site is in its region");
    const Span<const u8> text = world.function.from(plan.anchor);
    require(text.size() >= region.length, "region within the function");
    for (size_t i = 0; i < region.length; ++i)
        require(region.bytes[i] == text[i], "region bytes are the text's");
    u64 at = plan.anchor;
    for (const Insn& insn : region.all()) {
        require(insn.address == at, "region without gaps");
        const bool is_last = &insn == &region.last();
        require(is_last || (!insn.is_terminal() && !insn.is_call()), "flow ends at the end only");
        at = insn.end();
    }
    for (; at < range.end; ++at)
        require(*world.function.from(at).data() == kInt3, "filler");
    require((plan.tactic == Tactic::Slide) == (plan.anchor < plan.site), "a slide begins earlier");
    require((plan.tactic == Tactic::Slide) == (plan.before > 0), "and runs something before");
    require(region.insns[plan.before].address == plan.site, "the handler is called at the site");
    check_claimed(world, {range.begin + 1, range.end}, range);
}

void check_board(const Plan& plan, const World& world) {
    const Range board = {plan.board, plan.board + kJumpLength};
    const i64 distance = static_cast<i64>(plan.board - (plan.site + kShortJumpLength));
    require(distance >= -128 && distance <= 127, "board within reach");
    require(!board.overlaps({plan.anchor, plan.anchor + plan.region.length}), "board elsewhere");
    for (size_t i = 0; i < kJumpLength; ++i)
        require(plan.board_bytes[i] == *world.text.from(plan.board + i).data(), "board's bytes");
    check_claimed(world, board, board);
    // No CPU runs into it: it lies in the padding behind an instruction that never continues.
    for (const Code& code : {world.function, world.neighbours[0], world.neighbours[1]}) {
        if (!code.range().contains(plan.board)) continue;
        const Range padding = dead_padding(code);
        require(padding.begin <= board.begin && board.end <= padding.end, "board is padding");
        Insn last;
        u64 at = code.address;
        for (Insn insn; at < padding.begin && decode(code.from(at), at, insn); at = insn.end()) {
            if (insn.kind == Kind::Int3 && insn.end() == padding.begin) break;
            last = insn;
        }
        const bool guarded = last.is_terminal() && *code.from(last.end()).data() == kInt3;
        require(at + guarded == padding.begin, "padding begins behind an instruction");
        require(last.is_terminal() || last.kind == Kind::Trap, "which never continues");
    }
    PatchSite patch;
    require(!make_board(plan, kSlot, patch), "the board reaches the slot");
}

/// Every branch of the copy leads where a displaced one leads, behind the region, or stays.
void check_copy(const Code& copy, Span<const Insn> insns, u64 behind) {
    for (u64 at = copy.address; at < copy.range().end;) {
        Insn insn;
        require(decode(copy.from(at), at, insn), "copy decodes");
        bool known = !insn.rel_size || insn.target == behind || copy.range().contains(insn.target);
        for (const Insn& original : insns)
            known |= original.rel_size && insn.target == original.target;
        require(known, "branch of the copy");
        at = insn.end();
    }
}

void check_detour(const Plan& plan) {
    static u8 buffer[kMaxDetour];
    const DetourConfig config = {
        .handler = kSlot + 0x1000, .argument = 1, .cs = 0x10, .ss = 0x18, .smap = true};
    DetourLayout layout;
    if (const Refusal refusal = emit_detour(plan, config, kSlot, buffer, layout)) {
        require(refusal.reason == Reason::OUT_OF_REACH, "only reach may fail a detour");
        return;
    }
    require(layout.size <= kMaxDetour && layout.displaced < layout.size, "layout");
    const bool one = layout.out_of_line == layout.displaced;
    require(one == (plan.region.count - plan.before == 1), "copies of one instruction are one");
    const Code code = {kSlot, {buffer, layout.size}};
    const size_t end = one ? layout.size : layout.out_of_line;
    check_copy(
        {kSlot + layout.displaced, code.bytes.from(layout.displaced).first(end - layout.displaced)},
        plan.region.all(), plan.region.last().end());
    PatchSite patch;
    require(!make_jump_site(plan, kSlot + layout.entry, patch), "jump reaches the slot");
}

void check_out_of_line(const Plan& plan) {
    static u8 buffer[kMaxDetour];
    DetourLayout layout;
    if (emit_out_of_line(plan, {}, kSlot, buffer, layout)) return;
    check_copy({kSlot, {buffer, layout.size}}, {&plan.first, 1}, plan.first.end());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8* data, size_t size) {
    if (size < sizeof(Input)) return 0;
    const Input input = {data[0], data[1], data[2], data[3]};
    Span<const u8> code = Span<const u8>{data, size}.from(sizeof(Input));
    More more = {};
    if (input.flags & kHasMore) {
        if (code.size() < sizeof(More)) return 0;
        __builtin_memcpy(&more, code.data(), sizeof(More));
        code = code.from(sizeof(More));
    }
    World world;
    const size_t before = more.before < code.size() ? more.before : code.size();
    const size_t left = code.size() - before;
    const size_t after = more.after < left ? more.after : left;
    world.text = {kText, code};
    world.function = {kText + before, code.from(before).first(left - after)};
    if (before) world.neighbours[world.neighbour_count++] = {kText, code.first(before)};
    if (after)
        world.neighbours[world.neighbour_count++] = {world.function.range().end,
                                                     code.from(code.size() - after)};
    const auto land = [&](Reason reason, u64 target) {
        world.landings[world.landing_count++] = {reason, 0, target};
    };
    const auto reserve = [&](u64 begin, u64 end) {
        world.reserved[world.reserved_count++] = {{begin, end}, Reason::JUMP_LABEL};
    };
    const u64 start = world.function.address;
    if (input.flags & kHasLanding) land(Reason::POINTER_INTO_REGION, start + input.landing);
    if (input.flags & kHasReserved) reserve(start + input.reserved, start + input.reserved + 1);
    if (input.flags & kHasMore) {
        for (const u8 offset : more.landings)
            land(Reason::FIXUP_INTO_REGION, kText + offset);
        reserve(kText + more.reserved, kText + more.reserved + more.reserved_size + 1);
    }
    Snapshot snapshot;
    snapshot.site = start + input.site;
    snapshot.function = world.function;
    snapshot.neighbours = {world.neighbours, world.neighbour_count};
    snapshot.landings = world.all_landings();
    snapshot.reserved = world.all_reserved();
    snapshot.no_jump_tables = input.flags & kNoJumpTables;
    snapshot.indirect_thunks.compiled = {kText + 0x1000, kText + 0x2000};
    snapshot.tactics =
        static_cast<u8>(tactic_bit(Tactic::Window) | (input.flags >> kTacticsShift & 3) << 1);

    Plan plan;
    if (make_plan(snapshot, plan)) return 0;
    require(plan.first.address == snapshot.site, "the site is an instruction");
    check_out_of_line(plan);
    if (!plan.may_jump()) return 0;
    require(snapshot.tactics & tactic_bit(plan.tactic), "only what was allowed");
    check_region(plan, world);
    if (plan.tactic == Tactic::Springboard) check_board(plan, world);
    check_detour(plan);
    return 0;
}
