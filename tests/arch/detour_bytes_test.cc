// SPDX-License-Identifier: GPL-2.0
// What a detour is made of, and how large it gets.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "arch/x86/detour/detour.h"
#include "support/printers.h"
#include "support/scene.h"

namespace djprobe::x86 {
namespace {

using test::Bytes;
using test::join;
using test::kText;
using test::Scene;
using test::view;

constexpr u64 kSlot = kText + 0x100000;
constexpr u64 kHandler = kText + 0x200000;
constexpr u64 kUserText = 0x7fff12340000;  // no 32-bit immediate holds it

const DetourConfig kConfig = {.handler = kHandler, .argument = 1, .cs = 0x10, .ss = 0x18};

struct Emitted {
    Refusal refusal;
    DetourLayout layout;
    Bytes bytes;

    Bytes part(size_t begin, size_t end) const {
        return {bytes.begin() + static_cast<long>(begin), bytes.begin() + static_cast<long>(end)};
    }
};

Emitted emit(const Plan& plan, DetourConfig config = kConfig, u64 slot = kSlot) {
    Emitted result{{}, {}, Bytes(kMaxDetour)};
    Span<u8> buffer{result.bytes.data(), result.bytes.size()};
    result.refusal = emit_detour(plan, config, slot, buffer, result.layout);
    result.bytes.resize(result.layout.size);
    return result;
}

/// The last instruction of the bytes, which all must decode.
Insn last_insn(const Bytes& bytes, u64 address) {
    Insn insn;
    for (u64 at = address; at < address + bytes.size(); at = insn.end())
        if (!decode(Code{address, view(bytes)}.from(at), at, insn)) {
            ADD_FAILURE() << "undecodable at +" << at - address;
            break;
        }
    return insn;
}

const Bytes kPrologue = CODE("push rbp; mov rbp, rsp; push r15; ret");  // region of 6 bytes

// --- layout ---

TEST(DetourLayoutTest, EntryIsTheSlotsFirstByte) {
    EXPECT_EQ(emit(Scene(kPrologue).plan(0)).layout.entry, 0);
}

TEST(DetourLayoutTest, EachPartHasItsOffset) {
    const Emitted detour = emit(Scene(kPrologue).plan(0));
    const DetourLayout& layout = detour.layout;
    Insn call;
    ASSERT_TRUE(decode(Code{kSlot, view(detour.bytes)}.from(kSlot + layout.handler),
                       kSlot + layout.handler, call));
    EXPECT_EQ(call.target, kHandler);
    EXPECT_EQ(call.end(), kSlot + layout.restore);
    EXPECT_EQ(layout.part_at(0), DetourPart::Save);
    EXPECT_EQ(layout.part_at(layout.handler), DetourPart::Call);
    EXPECT_EQ(layout.part_at(layout.restore), DetourPart::Restore);
    EXPECT_EQ(layout.part_at(layout.displaced), DetourPart::Displaced);
    EXPECT_EQ(layout.part_at(layout.out_of_line), DetourPart::OutOfLine);
    EXPECT_EQ(layout.cold, layout.size);
}

TEST(DetourLayoutTest, DisplacedInstructionsThenJumpBackBehindTheRegion) {
    const Emitted detour = emit(Scene(kPrologue).plan(0));
    const DetourLayout& layout = detour.layout;
    ASSERT_EQ(layout.out_of_line - layout.displaced, 6 + 5);
    EXPECT_EQ(detour.part(layout.displaced, layout.displaced + 6u),
              CODE("push rbp; mov rbp, rsp; push r15"));
    const Insn back =
        last_insn(detour.part(layout.displaced, layout.out_of_line), kSlot + layout.displaced);
    EXPECT_EQ(back.kind, Kind::Jump);
    EXPECT_EQ(back.target, kText + 6);
}

TEST(DetourLayoutTest, OutOfLineCopyJumpsBackBehindTheFirstInstruction) {
    const Emitted detour = emit(Scene(kPrologue).plan(0));
    const DetourLayout& layout = detour.layout;
    ASSERT_EQ(layout.size - layout.out_of_line, 1 + 5);
    const Insn back =
        last_insn(detour.part(layout.out_of_line, layout.size), kSlot + layout.out_of_line);
    EXPECT_EQ(back.kind, Kind::Jump);
    EXPECT_EQ(back.target, kText + 1);
}

TEST(DetourLayoutTest, OneDisplacedInstructionIsItsOwnOutOfLineCopy) {
    const DetourLayout layout = emit(Scene(CODE("mov eax, 0x12345678; ret")).plan(0)).layout;
    EXPECT_EQ(layout.out_of_line, layout.displaced);
    EXPECT_EQ(layout.size, layout.displaced + 5 + 5);
}

TEST(DetourLayoutTest, NothingFollowsWhatNeverFallsThrough) {
    const DetourLayout ret = emit(Scene(CODE("ret; int3; int3; int3; int3")).plan(0)).layout;
    EXPECT_EQ(ret.size, ret.displaced + 2);
    const DetourLayout call = emit(Scene(CODE(".byte 0xe8, 0, 1, 0, 0; ret")).plan(0)).layout;
    EXPECT_EQ(call.size, call.displaced + 5 + 5);
}

TEST(DetourLayoutTest, EveryByteDecodes) {
    const Emitted detour = emit(Scene(kPrologue).plan(0));
    EXPECT_EQ(last_insn(detour.bytes, kSlot).end(), kSlot + detour.bytes.size());
}

TEST(DetourLayoutTest, OutOfLineAloneHoldsNothingElse) {
    const Plan plan = Scene(kPrologue).plan(0);
    Bytes buffer(kMaxDetour);
    DetourLayout layout;
    ASSERT_EQ(emit_out_of_line(plan, {}, kSlot, {buffer.data(), buffer.size()}, layout), Refusal());
    EXPECT_EQ(layout.out_of_line, 0);
    EXPECT_EQ(layout.size, 1 + 5);
}

TEST(DetourLayoutTest, SiteThatMayNotJumpHasAnOutOfLineCopy) {
    const Plan plan = Scene(CODE("inc rax; ret")).plan(0);
    ASSERT_FALSE(plan.may_jump());
    Bytes buffer(kMaxDetour);
    DetourLayout layout;
    EXPECT_EQ(emit_out_of_line(plan, {}, kSlot, {buffer.data(), buffer.size()}, layout), Refusal());
    EXPECT_EQ(layout.size, 3 + 5);
}

// --- the machine ---

// Kernel commit d8a738689794: a handler ran with the AC flag of a user access.
TEST(DetourSmapTest, ClacFollowsCldBeforeTheHandler) {
    const Plan plan = Scene(kPrologue).plan(0);
    DetourConfig config = kConfig;
    const Bytes without = emit(plan, config).bytes;
    config.smap = true;
    const Bytes with = emit(plan, config).bytes;

    const Bytes clac = CODE("clac");
    ASSERT_EQ(with.size(), without.size() + clac.size());
    const auto cld = std::mismatch(without.begin(), without.end(), with.begin()).second;
    EXPECT_EQ(*(cld - 1), 0xfc);
    EXPECT_TRUE(std::equal(clac.begin(), clac.end(), cld));
    EXPECT_EQ(std::search(without.begin(), without.end(), clac.begin(), clac.end()), without.end());
}

TEST(DetourSmapTest, FlagsAreSavedBeforeClac) {
    DetourConfig config = kConfig;
    config.smap = true;
    const Bytes bytes = emit(Scene(kPrologue).plan(0), config).bytes;
    const Bytes clac = CODE("clac");
    const auto at = std::search(bytes.begin(), bytes.end(), clac.begin(), clac.end());
    EXPECT_NE(std::find(bytes.begin(), at, 0x9c), at) << "no pushf before it";
}

// --- more calls ---

TEST(DetourAfterTest, HandlerIsCalledBehindTheProbedInstructionInBothCopies) {
    const Plan plan = Scene(kPrologue).plan(0);
    DetourConfig config = kConfig;
    const Emitted without = emit(plan, config);
    config.after = true;
    const Emitted with = emit(plan, config);
    ASSERT_EQ(with.refusal, Refusal());
    // The same call, of the same size, in the detour and in the out-of-line copy.
    const size_t call = without.layout.displaced;
    EXPECT_EQ(with.layout.displaced, call);
    EXPECT_EQ(with.layout.size, without.layout.size + 2 * call);
    EXPECT_EQ(with.layout.out_of_line, without.layout.out_of_line + call);
    EXPECT_EQ(with.bytes[with.layout.displaced], CODE("push rbp")[0]);
    EXPECT_EQ(with.bytes[with.layout.out_of_line], CODE("push rbp")[0]);

    Bytes buffer(kMaxDetour);
    DetourLayout layout;
    ASSERT_EQ(emit_out_of_line(plan, config, kSlot, {buffer.data(), buffer.size()}, layout),
              Refusal());
    EXPECT_EQ(layout.size, 1 + call + 5);
}

TEST(DetourAfterTest, NothingRunsBehindABranch) {
    DetourConfig config = kConfig;
    config.after = true;
    for (const Bytes& code :
         {CODE("call 771b + 0x1000; ret"), CODE("jmp 771b + 0x1000; ret"),
          CODE("1: jz 1b + 0x1000; ret"), CODE("ret; int3; int3; int3; int3"),
          CODE("1: loop 1b + 20; nop; nop; nop; ret"), CODE("call rax; nop; nop; nop; ret")}) {
        const Plan plan = Scene(code).plan(0);
        EXPECT_EQ(emit(plan, config).refusal, Refusal(Reason::POST_AT_BRANCH, kText));
        Bytes buffer(kMaxDetour);
        DetourLayout layout;
        EXPECT_EQ(emit_out_of_line(plan, config, kSlot, {buffer.data(), buffer.size()}, layout),
                  Refusal(Reason::POST_AT_BRANCH, kText));
    }
    // Behind it in the region there may be one.
    EXPECT_EQ(emit(Scene(CODE("push rax; jz 771b + 0x1000; ret")).plan(0), config).refusal,
              Refusal());
}

TEST(DetourRedirectTest, AColdPartThatEndsInIret) {
    const Plan plan = Scene(kPrologue).plan(0);
    DetourConfig config = kConfig;
    const Emitted without = emit(plan, config);
    config.redirects = true;
    const Emitted with = emit(plan, config);
    const Bytes iretq = CODE("iretq");
    EXPECT_EQ(with.part(with.layout.size - 2u, with.layout.size), iretq);
    EXPECT_EQ(std::search(without.bytes.begin(), without.bytes.end(), iretq.begin(), iretq.end()),
              without.bytes.end());
    // test, jnz: all that it costs a hit.
    EXPECT_EQ(with.layout.displaced, without.layout.displaced + 2 + 6);
}

// --- reach ---

TEST(DetourReachTest, SlotTooFarFromTheSite) {
    EXPECT_TRUE(emit(Scene(kPrologue).plan(0), kConfig, kText - 0x90000000).refusal ==
                Refusal(Reason::OUT_OF_REACH, kText));
}

TEST(DetourReachTest, SlotTooFarFromAnOperandNamesTheInstruction) {
    // The operand lies 2 GiB above the site, the slot a little below it.
    const Plan plan = Scene(CODE("nop; mov rax, [rip + 0x7fffff00]; ret")).plan(0);
    ASSERT_EQ(plan.jump, Refusal());
    DetourConfig config = kConfig;
    config.handler = kText;
    EXPECT_EQ(emit(plan, config, kText - 0x1000).refusal, Refusal(Reason::OUT_OF_REACH, kText + 1));
}

TEST(DetourReachTest, HandlerTooFarFromTheSlot) {
    DetourConfig config = kConfig;
    config.handler = kSlot + 0x90000000;
    EXPECT_EQ(emit(Scene(kPrologue).plan(0), config).refusal, Refusal(Reason::OUT_OF_REACH, kText));
}

TEST(DetourReachTest, SmallBufferIsRefusedNotOverrun) {
    const Plan plan = Scene(kPrologue).plan(0);
    const size_t needed = emit(plan).layout.size;
    for (size_t size = 0; size < needed; ++size) {
        Bytes buffer(needed, 0xaa);
        DetourLayout layout;
        EXPECT_TRUE(emit_detour(plan, kConfig, kSlot, {buffer.data(), size}, layout)) << size;
        EXPECT_EQ(buffer[size], 0xaa) << size;
    }
}

// --- size ---

/// `insn` made `length` bytes long by prefixes that mean nothing to it.
Bytes stretched(const Bytes& insn, size_t length) {
    return join(Bytes(length - insn.size(), 0x2e), insn);
}

/// All sequences of instructions of every length that make one region, one kind per form of
/// relocation: copied, jcc, counter jump, jump, call and indirect call.
void for_each_region(const Bytes& before, const std::function<void(const Bytes&)>& visit) {
    static const Bytes kContinuing[] = {{0x90}, {0x74, 0x40}, {0xe2, 0x40}};
    static const Bytes kFinal[] = {{0xeb, 0x40}, {0xe8, 0, 1, 0, 0}, CODE("call rax"), {0xc3}};
    for (size_t length = 1; length <= kMaxInsnLength; ++length) {
        for (const Bytes& insn : kContinuing) {
            if (insn.size() > length) continue;
            const Bytes code = join(before, stretched(insn, length));
            code.size() < kJumpLength ? for_each_region(code, visit) : visit(code);
        }
        for (const Bytes& insn : kFinal)
            if (insn.size() <= length && before.size() + length >= kJumpLength)
                visit(join(before, stretched(insn, length)));
    }
}

using Emit = std::function<Refusal(const Plan&, u64 text, Span<u8>, DetourLayout&)>;

Refusal emit_handler(const Plan& plan, u64 text, Span<u8> out, DetourLayout& layout) {
    const DetourConfig config = {
        .handler = text + 0x1000, .argument = ~0ul, .cs = 0x10, .ss = 0x18, .smap = true};
    return emit_detour(plan, config, text + 0x2000, out, layout);
}

/// As many of the longest conditions as may stand in front of a call.
std::vector<Action> longest_conditions() {
    const Action condition = {
        DJPROBE_ACTION_IF_EQ, DJPROBE_TASK_PID, 2, DJPROBE_ACTION_SIGNED | DJPROBE_ACTION_TASK, 0,
        ~u64{0} >> 1};
    return std::vector<Action>(DJPROBE_ACTIONS_MAX, condition);
}

/// All that the handler may have, where it may.
Refusal emit_handlers(const Plan& plan, u64 text, Span<u8> out, DetourLayout& layout) {
    const bool straight = plan.first.kind == Kind::Plain || plan.first.kind == Kind::Nop;
    DetourConfig config = {.handler = text + 0x1000,
                           .argument = ~0ul,
                           .redirects = true,
                           .after = straight,
                           .cs = 0x10,
                           .ss = 0x18,
                           .smap = true};
    DetourLayout with_after;
    if (const Refusal refusal = emit_detour(plan, config, text + 0x2000, out, with_after))
        return refusal;
    // A program has no conditions beside that.
    const std::vector<Action> conditions = longest_conditions();
    config.front = {{conditions.data(), conditions.size()}, {}, true};
    config.after = false;
    const Refusal refusal = emit_detour(plan, config, text + 0x2000, out, layout);
    layout.size = std::max(layout.size, with_after.size);
    return refusal;
}

DirectConfig largest_call(u64 text) {
    return {.program = text + 0x1000,
            .slow = text + 0x1100,
            .argument = ~0ul,
            .active = 8,
            .mark = -128,
            .preempt_count = 16,
            .hits = 0x100000000,
            .stats = text + 0x1200,
            .resched = text + 0x1300,
            .cs = 0x10,
            .ss = 0x18,
            .smap = true};
}

/// With all fields, and with all but one, which are stored one by one.
Refusal emit_call(const Plan& plan, DirectConfig config, u64 text, Span<u8> out,
                  DetourLayout& layout) {
    const Live live = {kCallerSaved, true, true};
    DetourLayout whole;
    if (const Refusal refusal = emit_direct_detour(plan, config, live, text + 0x2000, out, whole))
        return refusal;
    config.context = kAllFields - 1;
    const Refusal refusal = emit_direct_detour(plan, config, live, text + 0x2000, out, layout);
    layout.size = std::max(layout.size, whole.size);
    return refusal;
}

/// The largest direct calls.
Refusal emit_direct(const Plan& plan, u64 text, Span<u8> out, DetourLayout& layout) {
    DirectConfig config = largest_call(text);
    const std::vector<Action> conditions = longest_conditions();
    config.front = {{conditions.data(), conditions.size()}, {}, true};
    return emit_call(plan, config, text, out, layout);
}

/// The longest list with a timer.
Refusal emit_timer(const Plan& plan, u64 text, Span<u8> out, DetourLayout& layout) {
    Action actions[DJPROBE_ACTIONS_MAX];
    for (Action& action : actions)
        action = {DJPROBE_ACTION_LOG2, DJPROBE_TASK_PID, 2, DJPROBE_ACTION_TASK, 0, 0};
    actions[0] = {DJPROBE_ACTION_ELAPSED, 0, 0, 0, 0, ~u64{0}};
    for (size_t i = 1; i <= DJPROBE_EXTREMES_MAX; ++i)
        actions[i].operation = DJPROBE_ACTION_MIN;
    const CountConfig config = {.counter = 0x100000000, .lahf = true, .actions = actions};
    return emit_counting_detour(plan, config, {kCallerSaved, true, true}, text + 0x2000, out,
                                layout);
}

/// An action whose code is among the longest of its kind.
Action longest(u8 operation) {
    return {operation, DJPROBE_TASK_PID, 2, DJPROBE_ACTION_SIGNED | DJPROBE_ACTION_TASK, 0, 0};
}

/// The longest list of the longest actions.
Refusal emit_actions(const Plan& plan, u64 text, Span<u8> out, DetourLayout& layout) {
    Action actions[DJPROBE_ACTIONS_MAX];
    std::ranges::fill(actions, longest(DJPROBE_ACTION_LOG2));
    for (size_t i = 0; i < DJPROBE_EXTREMES_MAX; ++i)
        actions[i].operation = DJPROBE_ACTION_MIN;
    // Which an extreme has to give back.
    actions[DJPROBE_EXTREMES_MAX] = {DJPROBE_ACTION_LOG2, kRax, 2, DJPROBE_ACTION_SIGNED, 0, 0};
    const CountConfig config = {.counter = 0x100000000, .lahf = true, .actions = actions};
    return emit_counting_detour(plan, config, {kCallerSaved, true, true}, text + 0x2000, out,
                                layout);
}

/// The longest lists that may share a detour, in front of the largest call.
Refusal emit_shared(const Plan& plan, u64 text, Span<u8> out, DetourLayout& layout) {
    // As extremes, which two lists may be.
    static_assert(kMostSharedActions <= 2 * DJPROBE_EXTREMES_MAX);
    Action actions[kMostSharedActions];
    std::ranges::fill(actions, longest(DJPROBE_ACTION_MIN));
    const Span<const Action> all = actions;
    const size_t half = kMostSharedActions / 2;
    const CountConfig counts[] = {
        {.counter = 0x100000000, .lahf = true, .actions = all.first(half)},
        {.counter = 0x200000000, .lahf = true, .actions = all.from(half)}};
    DirectConfig config = largest_call(text);
    config.first = counts;
    return emit_call(plan, config, text, out, layout);
}

/// The largest detour over all regions at `text`; sets how many there are.
size_t largest_detour(u64 text, const Emit& emit, size_t& regions) {
    size_t largest = 0;
    for_each_region({}, [&](const Bytes& region) {
        ++regions;
        const Plan plan = Scene(join(region, CODE("ret")), text).plan(0);
        ASSERT_EQ(plan.jump, Refusal());
        Bytes buffer(2 * kMaxDetour);
        DetourLayout layout;
        ASSERT_EQ(emit(plan, text, {buffer.data(), buffer.size()}, layout), Refusal());
        largest = std::max<size_t>(largest, layout.size);
    });
    return largest;
}

TEST(DetourTest, LargestDetourFits) {
    for (const Emit& emit : {Emit(emit_handlers), Emit(emit_direct), Emit(emit_actions),
                             Emit(emit_timer), Emit(emit_shared)}) {
        size_t regions = 0;
        EXPECT_LE(largest_detour(kUserText, emit, regions), kMaxDetour);
        EXPECT_GT(regions, 1000u);
    }
}

TEST(DetourTest, NoDetourOfTheKernelTakesMoreThan200Bytes) {
    size_t regions = 0;
    const size_t largest = largest_detour(kText, emit_handler, regions);
    EXPECT_LE(largest, 200u);
    EXPECT_GT(regions, 1000u);
    RecordProperty("largest_kernel_detour", static_cast<int>(largest));
}

TEST(DetourTest, FunctionEntryTakesAtMost144Bytes) {
    DetourConfig config = kConfig;
    config.smap = true;
    EXPECT_LE(emit(Scene(kPrologue).plan(0), config).layout.size, 144);
}

}  // namespace
}  // namespace djprobe::x86
