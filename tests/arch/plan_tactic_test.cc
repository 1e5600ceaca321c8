// SPDX-License-Identifier: GPL-2.0
// Where the five bytes at the IA do not fit: slides and springboards, and what each must prove.
#include <gtest/gtest.h>

#include "support/printers.h"
#include "support/scene.h"

namespace djprobe::x86 {
namespace {

using test::Bytes;
using test::join;
using test::kText;
using test::Scene;
using test::view;

Scene scene_of(const Bytes& code, u8 tactics = kAllTactics) {
    Scene scene(code);
    scene.tactics = tactics;
    return scene;
}

constexpr u8 kNoSlide = kAllTactics & ~tactic_bit(Tactic::Slide);
constexpr u8 kNoBoard = kAllTactics & ~tactic_bit(Tactic::Springboard);

/// What a site that gets no jump must look like: the window's refusal, and nothing half chosen.
void expect_refused(const Plan& plan, const Refusal& window) {
    EXPECT_EQ(plan.jump, window);
    EXPECT_EQ(plan.tactic, Tactic::Window);
    EXPECT_EQ(plan.anchor, plan.site);
    EXPECT_EQ(plan.before, 0);
    EXPECT_EQ(plan.region.length, 0);
}

// --- slide ---

// Behind the ret there is other code: from the pop on there is no room for five bytes.
const Bytes kTail = CODE("push rax; mov rbx, rdi; pop rbp; ret; mov eax, 0x12345678; ret");
constexpr size_t kPop = 4, kRet = 5;
const Refusal kNoRoom = Refusal(Reason::FILLER, kText + 6);

TEST(PlanSlideTest, JumpStartsAtTheNearestInstructionFromWhichItFits) {
    const Plan plan = scene_of(kTail).plan(kPop);
    EXPECT_EQ(plan.jump, Refusal());
    EXPECT_EQ(plan.tactic, Tactic::Slide);
    EXPECT_EQ(plan.anchor, kText + 1);
    EXPECT_EQ(plan.before, 1);
    EXPECT_EQ(plan.region.count, 3);
    EXPECT_EQ(plan.region.length, 5);
    EXPECT_EQ(plan.region.insns[plan.before].address, plan.site);
    EXPECT_EQ(Bytes(plan.region.bytes, plan.region.bytes + 5),
              Bytes(kTail.begin() + 1, kTail.begin() + 6));
}

TEST(PlanSlideTest, SlidesOverSeveralInstructions) {
    const Plan plan = scene_of(kTail).plan(kRet);
    EXPECT_EQ(plan.tactic, Tactic::Slide);
    EXPECT_EQ(plan.anchor, kText + 1);
    EXPECT_EQ(plan.before, 2);
}

TEST(PlanSlideTest, NotTriedUnlessAllowed) {
    expect_refused(scene_of(kTail, kNoSlide).plan(kPop), kNoRoom);
}

TEST(PlanSlideTest, NotTriedWhereTheWindowFits) {
    EXPECT_EQ(scene_of(kTail).plan(1).tactic, Tactic::Window);
}

TEST(PlanSlideTest, ArrivalsBehindTheAnchorAreRefusedTheIaIncluded) {
    for (u64 offset = 0; offset < kTail.size(); ++offset) {
        Scene scene = scene_of(kTail);
        scene.landings = {{Reason::BRANCH_INTO_REGION, kText + 0x1234, kText + offset}};
        const Plan plan = scene.plan(kPop);
        EXPECT_EQ(plan.may_jump(), offset < 2 || offset > 4) << "+" << offset;
        // A region from the first instruction on does without the ret.
        if (plan.may_jump()) {
            EXPECT_EQ(plan.anchor, offset == kRet ? kText : kText + 1) << "+" << offset;
        }
    }
}

TEST(PlanSlideTest, ABranchOfTheFunctionItselfToTheIaIsAnArrival) {
    const Bytes code = CODE("mov rbx, rdi; 1: pop rbp; ret; test eax, eax; jnz 1b; ret");
    expect_refused(scene_of(code).plan(3), Refusal(Reason::FILLER, kText + 5));
}

TEST(PlanSlideTest, AnArrivalBetweenAnchorAndIaIsNotCuredFartherBack) {
    // From the first instruction on there would be room for ten bytes.
    const Bytes code = CODE("mov eax, 0x12345678; nop; 1: nop; pop rbp; ret; jmp 1b");
    expect_refused(scene_of(code).plan(7), Refusal(Reason::FILLER, kText + 9));
}

TEST(PlanSlideTest, ACallBeforeTheIaReturnsIntoTheRegion) {
    const Bytes brief = CODE("call rax; nop; pop rbp; ret; mov eax, 0x12345678; ret");
    expect_refused(scene_of(brief).plan(3), Refusal(Reason::FILLER, kText + 5));
    // Covers the five bytes by itself, but returns before the handler's place.
    const Bytes whole = CODE(".byte 0xe8, 0, 1, 0, 0; pop rbp; ret; mov eax, 0x12345678; ret");
    expect_refused(scene_of(whole).plan(5), Refusal(Reason::FILLER, kText + 7));
}

TEST(PlanSlideTest, WhatFollowsATerminalInstructionIsNotReachedFromIt) {
    for (const Bytes& before : {CODE("mov rbx, rdi; ret"), CODE("jmp rax; nop; ret"),
                                CODE("mov rbx, rdi; .byte 0xe9, 0, 1, 0, 0")}) {
        const Bytes code = join(before, CODE("pop rbp; ret; mov eax, 0x12345678; ret"));
        const Plan plan = scene_of(code).plan(before.size());
        EXPECT_FALSE(plan.may_jump());
    }
}

TEST(PlanSlideTest, AReservedInstructionBeforeTheIaIsNotDisplaced) {
    for (u64 offset = 0; offset < kTail.size(); ++offset) {
        Scene scene = scene_of(kTail);
        scene.reserved = {{{kText + offset, kText + offset + 1}, Reason::FTRACE_SITE}};
        if (offset == kPop) continue;  // no site at all
        const Plan plan = scene.plan(kPop);
        EXPECT_EQ(plan.may_jump(), offset < 1 || offset > 3) << "+" << offset;
        if (plan.may_jump()) {
            EXPECT_EQ(plan.anchor, offset == kRet ? kText : kText + 1) << "+" << offset;
        }
    }
}

TEST(PlanSlideTest, AnInstructionThatCannotMoveStopsTheSlide) {
    for (const Bytes& before :
         {CODE("ud2; nop"), CODE("hlt; nop; nop"), CODE("xend; nop"), CODE("endbr64"),
          CODE("endbr64; nop"), CODE("mov eax, [eip + 8]"), CODE("int 3; nop; nop")}) {
        const Bytes code = join(before, CODE("pop rbp; ret; mov eax, 0x12345678; ret"));
        EXPECT_FALSE(scene_of(code).plan(before.size()).may_jump());
    }
}

TEST(PlanSlideTest, InterruptShadowBeforeTheIaKeepsItsSuccessor) {
    const Bytes code = CODE("mov rbx, rdi; sti; nop; pop rbp; ret; mov eax, 0x12345678; ret");
    EXPECT_EQ(scene_of(code).plan(5).tactic, Tactic::Slide);
    // The call of the handler would come in between.
    expect_refused(scene_of(code, kNoBoard).plan(4), Refusal(Reason::FILLER, kText + 7));
}

TEST(PlanSlideTest, AJumpThatMayLeaveBeforeTheIaIsNoObstacle) {
    const Plan plan =
        scene_of(CODE("jz 1f; mov eax, ebx; ret; mov eax, 0x12345678; 1: ret")).plan(4);
    EXPECT_EQ(plan.tactic, Tactic::Slide);
    EXPECT_EQ(plan.anchor, kText);
    EXPECT_EQ(plan.before, 2);
}

TEST(PlanSlideTest, DoesNotLeaveTheFunction) {
    const Bytes before = CODE("mov rbx, rdi; mov rbx, rdi");
    Scene scene = scene_of(CODE("pop rbp; ret; mov eax, 0x12345678; ret"));
    scene.neighbours = {{kText - before.size(), view(before)}};
    expect_refused(scene.plan(0), Refusal(Reason::FILLER, kText + 2));
}

TEST(PlanSlideTest, AnIndirectJumpMayArriveAnywhere) {
    Scene scene = scene_of(join(kTail, CODE("jmp rax")));
    scene.no_jump_tables = false;
    expect_refused(scene.plan(kPop), kNoRoom);
}

// --- springboard ---

// The loop's target is two bytes behind the function's start.
const Bytes kLoop = CODE("mov eax, ebx; 1: dec ecx; jnz 1b; ret");
constexpr u64 kLoopEnd = kText + 7;
constexpr u64 kBoard = kLoopEnd + 1;  // of padding of int3: the first one stays
const Refusal kLoopTarget = Refusal(Reason::BRANCH_INTO_REGION, kText + 4, kText + 2);

Bytes int3s(size_t count) {
    return Bytes(count, kInt3);
}

TEST(PlanBoardTest, TwoBytesLeadToDeadPadding) {
    const Plan plan = scene_of(join(kLoop, int3s(8))).plan(0);
    EXPECT_EQ(plan.jump, Refusal());
    EXPECT_EQ(plan.tactic, Tactic::Springboard);
    EXPECT_EQ(plan.anchor, kText);
    EXPECT_EQ(plan.before, 0);
    EXPECT_EQ(plan.region.count, 1);
    EXPECT_EQ(plan.region.length, 2);
    EXPECT_EQ(plan.board, kBoard);
    EXPECT_EQ(Bytes(plan.board_bytes, plan.board_bytes + 5), int3s(5));
}

TEST(PlanBoardTest, NotTriedUnlessAllowed) {
    expect_refused(scene_of(join(kLoop, int3s(8)), kNoBoard).plan(0), kLoopTarget);
}

TEST(PlanBoardTest, ArrivalAtTheSecondByteIsRefused) {
    Scene scene = scene_of(join(kLoop, int3s(8)));
    scene.landings = {{Reason::BRANCH_INTO_REGION, kText + 0x1234, kText + 1}};
    EXPECT_FALSE(scene.plan(0).may_jump());
}

TEST(PlanBoardTest, ASiteOfOneByteNeedsItsSuccessor) {
    const Bytes lands = join(CODE("push rbp; 1: dec ecx; jnz 1b; ret"), int3s(8));
    expect_refused(scene_of(lands).plan(0),
                   Refusal(Reason::BRANCH_INTO_REGION, kText + 3, kText + 1));
    const Bytes free = join(CODE("push rbp; push rbx; 1: dec ecx; jnz 1b; ret"), int3s(8));
    EXPECT_EQ(scene_of(free).plan(0).region.count, 2);
}

TEST(PlanBoardTest, PaddingThatControlFallsIntoIsNotDead) {
    const Bytes falls = CODE("mov eax, ebx; 1: dec ecx; jnz 1b");
    for (const Bytes& end : {CODE("nop"), CODE("call rax"), CODE("jz 1f; 1:"), CODE("loop .")})
        EXPECT_FALSE(scene_of(join(falls, end, int3s(8))).plan(0).may_jump());
    for (const Bytes& end : {CODE("ret"), CODE("ud2"), CODE(".byte 0xe9, 0, 1, 0, 0")})
        EXPECT_EQ(scene_of(join(falls, end, int3s(8))).plan(0).tactic, Tactic::Springboard);
}

TEST(PlanBoardTest, OneByteNopsMayBeAPatchablePrefix) {
    expect_refused(scene_of(join(kLoop, Bytes(16, 0x90))).plan(0), kLoopTarget);
    expect_refused(scene_of(join(kLoop, int3s(4), Bytes(16, 0x90))).plan(0), kLoopTarget);
}

TEST(PlanBoardTest, LongNopsArePadding) {
    const Bytes nop9 = {0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0};
    const Plan plan = scene_of(join(kLoop, nop9)).plan(0);
    EXPECT_EQ(plan.board, kLoopEnd);
    EXPECT_EQ(Bytes(plan.board_bytes, plan.board_bytes + 5), Bytes(nop9.begin(), nop9.begin() + 5));
}

TEST(PlanBoardTest, ZerosPromiseNothing) {
    expect_refused(scene_of(join(kLoop, Bytes(8, 0))).plan(0), kLoopTarget);
}

TEST(PlanBoardTest, TheRegionsOwnFillerIsNoBoard) {
    // ret; int3; a long nop: no window, but two bytes for the short jump.
    const Bytes nop9 = {0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0};
    const Plan plan = scene_of(join(CODE("ret; int3"), nop9)).plan(0);
    EXPECT_EQ(plan.tactic, Tactic::Springboard);
    EXPECT_EQ(plan.region.length, 2);
    EXPECT_EQ(plan.board, kText + 2);
    const Bytes nop4 = {0x0f, 0x1f, 0x40, 0};
    EXPECT_FALSE(scene_of(join(CODE("ret; int3"), nop4)).plan(0).may_jump());
}

TEST(PlanBoardTest, FourBytesDoNotHoldAJump) {
    expect_refused(scene_of(join(kLoop, int3s(5))).plan(0), kLoopTarget);
    EXPECT_EQ(scene_of(join(kLoop, int3s(6))).plan(0).board, kBoard);
}

TEST(PlanBoardTest, TheInt3RightBehindAReturnOrAJumpStays) {
    const Bytes loop = CODE("mov eax, ebx; 1: dec ecx; jnz 1b");
    for (const Bytes& end : {CODE("ret"), CODE("jmp rax"), CODE(".byte 0xe9, 0, 1, 0, 0")}) {
        EXPECT_EQ(scene_of(join(loop, end, int3s(6))).plan(0).board,
                  kText + loop.size() + end.size() + 1);
    }
    // No CPU runs ahead of a trap.
    EXPECT_EQ(scene_of(join(loop, CODE("ud2"), int3s(5))).plan(0).board, kText + loop.size() + 2);
}

TEST(PlanBoardTest, ReservedBytesAreNoBoard) {
    for (u64 offset = 0; offset < 5; ++offset) {
        Scene scene = scene_of(join(kLoop, int3s(6)));
        scene.reserved = {{{kBoard + offset, kBoard + offset + 1}, Reason::FTRACE_SITE}};
        expect_refused(scene.plan(0), kLoopTarget);
    }
}

TEST(PlanBoardTest, BytesWhereControlArrivesAreNoBoard) {
    for (u64 offset = 0; offset < 5; ++offset) {
        Scene scene = scene_of(join(kLoop, int3s(6)));
        scene.landings = {{Reason::POINTER_INTO_REGION, kText + 0x5000, kBoard + offset}};
        expect_refused(scene.plan(0), kLoopTarget);
    }
}

TEST(PlanBoardTest, ABoardBehindTheObstacleIsFound) {
    Scene scene = scene_of(join(kLoop, int3s(9)));
    scene.reserved = {{{kBoard, kBoard + 1}, Reason::FTRACE_SITE}};
    scene.landings = {{Reason::POINTER_INTO_REGION, kText + 0x5000, kBoard + 2}};
    EXPECT_EQ(scene.plan(0).board, kBoard + 3);
}

/// kLoop with a function `ret; int3...` elsewhere whose first bytes for a springboard are `board`.
Plan with_board_at(u64 board, size_t size = 5) {
    const Bytes other = join(CODE("ret; int3"), int3s(size));
    Scene scene = scene_of(kLoop);
    scene.neighbours = {{board - 2, view(other)}};
    return scene.plan(0);
}

TEST(PlanBoardTest, TheShortJumpMustReach) {
    const u64 origin = kText + 2;
    EXPECT_EQ(with_board_at(origin + 127).board, origin + 127);
    expect_refused(with_board_at(origin + 128), kLoopTarget);
    EXPECT_EQ(with_board_at(origin - 128).board, origin - 128);
    expect_refused(with_board_at(origin - 129), kLoopTarget);
    EXPECT_EQ(with_board_at(origin - 129, 6).board, origin - 128);
}

TEST(PlanBoardTest, AnIndirectJumpMayArriveAnywhere) {
    Scene scene = scene_of(join(kLoop, CODE("jmp rax"), int3s(8)));
    scene.no_jump_tables = false;
    expect_refused(scene.plan(0), kLoopTarget);
}

TEST(PlanBoardTest, UndecodableNeighboursProveNothing) {
    Scene scene = scene_of(join(kLoop, int3s(8)));
    EXPECT_TRUE(scene.plan(0).may_jump());
    // What would be a branch to the middle of the padding, which every board there needs.
    Bytes bad = CODE("ret; .byte 0x06, 0x74, 0");
    bad.back() = static_cast<u8>(kLoop.size() + 4 - (0x40 + bad.size()));
    scene.neighbours = {{kText + 0x40, view(bad)}};
    EXPECT_FALSE(scene.plan(0).may_jump());
}

TEST(PlanBoardTest, ASlideIsPreferred) {
    // Neither a window (the loop's target) nor dead bytes are needed behind the first instruction.
    const Bytes code = join(CODE("mov rdx, rdi; mov eax, ebx; 1: dec ecx; jnz 1b; ret"), int3s(8));
    EXPECT_EQ(scene_of(code).plan(3).tactic, Tactic::Slide);
    EXPECT_EQ(scene_of(code, kNoSlide).plan(3).tactic, Tactic::Springboard);
}

}  // namespace
}  // namespace djprobe::x86
