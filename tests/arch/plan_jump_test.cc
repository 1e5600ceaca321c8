// SPDX-License-Identifier: GPL-2.0
// Whether a site may get the jump, and the region it displaces.
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

const Bytes kMov5 = CODE("mov eax, 0x12345678");
const Bytes kInt3s = Bytes(8, kInt3);

// --- the region ---

TEST(PlanRegionTest, WholeInstructionsThatCoverFiveBytes) {
    const Bytes code = CODE("push rbp; mov rbp, rsp; push r15; ret");  // 1 + 3 + 2
    const Plan plan = Scene(code).plan(0);
    EXPECT_EQ(plan.jump, Refusal());
    EXPECT_EQ(plan.region.count, 3);
    EXPECT_EQ(plan.region.length, 6);
    EXPECT_EQ(plan.region.last().address, kText + 4);
    EXPECT_EQ(Bytes(plan.region.bytes, plan.region.bytes + 6), Bytes(code.begin(), code.end() - 1));
}

TEST(PlanRegionTest, OneLongInstructionIsEnough) {
    EXPECT_EQ(Scene(join(kMov5, CODE("ret"))).plan(0).region.count, 1);
}

// Kernel commits 63dc6325ff41, 1993bf97992d: the int3 behind a return was taken for a breakpoint.
TEST(PlanRegionTest, FillerBehindAReturnBelongsToTheRegion) {
    const Plan plan = Scene(CODE("ret; int3; int3; int3; int3")).plan(0);
    EXPECT_EQ(plan.jump, Refusal());
    EXPECT_EQ(plan.region.count, 1);
    EXPECT_EQ(plan.region.length, 5);
}

TEST(PlanRegionTest, NoFillerIsTakenBeyondTheJump) {
    EXPECT_EQ(Scene(join(CODE("pop rbp; ret"), kInt3s)).plan(0).region.length, 5);
}

TEST(PlanRegionTest, NopFillerIsRefused) {
    EXPECT_EQ(Scene(CODE("ret; int3; nop; nop; nop; nop")).plan(0).jump,
              Refusal(Reason::FILLER, kText + 2));
}

TEST(PlanRegionTest, CodeBehindAReturnIsNoFiller) {
    EXPECT_EQ(Scene(join(CODE("ret"), kMov5, CODE("ret"))).plan(0).jump,
              Refusal(Reason::FILLER, kText + 1));
}

TEST(PlanRegionTest, FillerIsSearchedWithinTheFunctionOnly) {
    EXPECT_EQ(Scene(CODE("ret; int3; int3; int3")).plan(0).jump,
              Refusal(Reason::SHORT_REGION, kText + 4));
}

TEST(PlanRegionTest, ReservedFillerIsRefused) {
    Scene scene(join(CODE("ret"), kInt3s));
    scene.reserved = {{{kText + 3, kText + 4}, Reason::FOREIGN_PATCH}};
    EXPECT_EQ(scene.plan(0).jump,
              Refusal(Reason::REGION_RESERVED, kText + 3, static_cast<u64>(Reason::FOREIGN_PATCH)));
}

TEST(PlanRegionTest, FunctionEndsBeforeFiveBytes) {
    EXPECT_EQ(Scene(CODE("push rbp; mov rbp, rsp")).plan(0).jump,
              Refusal(Reason::SHORT_REGION, kText + 4));
}

TEST(PlanRegionTest, PaddingIsNotDisplaced) {
    // Falls into nops, which may be the next function's patchable prefix.
    EXPECT_EQ(Scene(CODE("nop; mov rbp, rsp; nop; nop; nop")).plan(0).jump,
              Refusal(Reason::SHORT_REGION, kText + 4));
}

TEST(PlanRegionTest, InstructionThatCannotBeDecodedEndsTheRegion) {
    EXPECT_EQ(Scene(CODE("push rbp; .byte 0x06; nop; nop; nop; ret")).plan(0).jump,
              Refusal(Reason::UNSCANNABLE, kText + 1));
}

// --- instructions that may not be displaced ---

TEST(PlanRegionTest, LandingPadInTheRegion) {
    EXPECT_EQ(Scene(CODE("push rbp; endbr64; ret")).plan(0).jump,
              Refusal(Reason::ENDBR_IN_REGION, kText + 1));
}

TEST(PlanRegionTest, LandingPadRightBehindTheRegionIsHarmless) {
    EXPECT_EQ(Scene(join(kMov5, CODE("endbr64; ret"))).plan(0).jump, Refusal());
}

TEST(PlanRegionTest, CallInTheMiddleWouldReturnIntoTheJump) {
    EXPECT_EQ(Scene(CODE("nop; call rax; mov ebx, eax; ret")).plan(0).jump,
              Refusal(Reason::CALL_IN_REGION, kText + 1));
    EXPECT_EQ(Scene(CODE("call rax; mov ebx, eax; nop; ret")).plan(0).jump,
              Refusal(Reason::CALL_IN_REGION, kText));
}

TEST(PlanRegionTest, CallAtTheEndReturnsBehindTheJump) {
    const Plan direct = Scene(CODE("push rbp; .byte 0xe8, 0, 1, 0, 0; ret")).plan(0);
    EXPECT_EQ(direct.jump, Refusal());
    EXPECT_EQ(direct.region.length, 6);
    const Plan indirect = Scene(CODE("mov rdi, rbx; call rax; ret")).plan(0);
    EXPECT_EQ(indirect.jump, Refusal());
    EXPECT_EQ(indirect.region.length, 5);
}

TEST(PlanRegionTest, ReservedInstructionInTheRegionTellsWhere) {
    Scene scene(CODE("push rbp; mov rbp, rsp; push r15; ret"));
    scene.reserved = {{{kText + 3, kText + 4}, Reason::EXTABLE_INSN}};
    EXPECT_EQ(scene.plan(0).jump,
              Refusal(Reason::REGION_RESERVED, kText + 1, static_cast<u64>(Reason::EXTABLE_INSN)));
}

TEST(PlanRegionTest, ReservationBehindTheRegionIsHarmless) {
    Scene scene(join(kMov5, CODE("nop; ret")));
    scene.reserved = {{{kText + 5, kText + 6}, Reason::JUMP_LABEL}};
    EXPECT_EQ(scene.plan(0).jump, Refusal());
}

TEST(PlanRegionTest, ImmovableInstructionInTheRegion) {
    EXPECT_EQ(Scene(CODE("nop; ud2; nop; nop; ret")).plan(0).jump,
              Refusal(Reason::REGION_RESERVED, kText + 1, static_cast<u64>(Reason::TRAP_INSN)));
    EXPECT_EQ(Scene(CODE("nop; hlt; nop; nop; nop; ret")).plan(0).jump,
              Refusal(Reason::REGION_RESERVED, kText + 1, static_cast<u64>(Reason::SYSTEM_FLOW)));
    EXPECT_EQ(
        Scene(CODE("nop; mov eax, [eip + 8]; ret")).plan(0).jump,
        Refusal(Reason::REGION_RESERVED, kText + 1, static_cast<u64>(Reason::NOT_RELOCATABLE)));
}

TEST(PlanRegionTest, InterruptShadowMayNotFallOnOurJump) {
    EXPECT_EQ(Scene(CODE("mov rbp, rsp; nop; sti; ret")).plan(0).jump,
              Refusal(Reason::INTERRUPT_SHADOW, kText + 4));
}

TEST(PlanRegionTest, InterruptShadowOnADisplacedSuccessorIsKept) {
    EXPECT_EQ(Scene(CODE("mov rbp, rsp; sti; nop; ret")).plan(0).jump, Refusal());
}

// --- arrivals ---

class PlanLandingTest : public testing::TestWithParam<u8> {
  protected:
    /// A 7-byte function at kText whose 5-byte instruction at +0 is the site.
    Scene scene_{join(kMov5, CODE("nop; ret"))};
    const u8 offset_ = GetParam();
    const u64 target_ = kText + GetParam();
    /// Landings inside the jump are refused; at IA and right behind it they are harmless.
    Refusal expected(Reason reason, u64 source) const {
        return offset_ >= 1 && offset_ <= 4 ? Refusal(reason, source, target_) : Refusal();
    }
};

TEST_P(PlanLandingTest, BackwardShortJumpFromTheFunctionItself) {
    Bytes code = join(kMov5, CODE("nop; ret"));
    code.push_back(0xeb);  // at +7, ends at +9
    code.push_back(static_cast<u8>(offset_ - 9));
    EXPECT_EQ(Scene(code).plan(0).jump, expected(Reason::BRANCH_INTO_REGION, kText + 7));
}

TEST_P(PlanLandingTest, ForwardShortJumpFromTheFunctionItself) {
    Bytes code = {0x74, offset_};
    code = join(code, kMov5, CODE("nop; ret"));
    const Plan plan = Scene(code, kText - 2).plan(2);
    EXPECT_EQ(plan.jump, expected(Reason::BRANCH_INTO_REGION, kText - 2));
}

TEST_P(PlanLandingTest, LongBranchFromTheFunctionItself) {
    Bytes code = join(kMov5, CODE("nop; ret"), Bytes{0x0f, 0x84});  // jz at +7, ends at +13
    code.push_back(static_cast<u8>(offset_ - 13));
    code = join(code, Bytes{0xff, 0xff, 0xff});
    EXPECT_EQ(Scene(code).plan(0).jump, expected(Reason::BRANCH_INTO_REGION, kText + 7));
}

TEST_P(PlanLandingTest, LoopFromTheFunctionItself) {
    Bytes code = join(kMov5, CODE("nop; ret"));
    code.push_back(0xe2);
    code.push_back(static_cast<u8>(offset_ - 9));
    EXPECT_EQ(Scene(code).plan(0).jump, expected(Reason::BRANCH_INTO_REGION, kText + 7));
}

TEST_P(PlanLandingTest, CallFromTheFunctionItself) {
    Bytes code = join(kMov5, CODE("nop; ret"), Bytes{0xe8});  // at +7, ends at +12
    code.push_back(static_cast<u8>(offset_ - 12));
    code = join(code, Bytes{0xff, 0xff, 0xff});
    EXPECT_EQ(Scene(code).plan(0).jump, expected(Reason::BRANCH_INTO_REGION, kText + 7));
}

TEST_P(PlanLandingTest, FallbackOfATransaction) {
    Bytes code = join(kMov5, CODE("nop; ret"), Bytes{0xc7, 0xf8});  // xbegin at +7, ends at +13
    code.push_back(static_cast<u8>(offset_ - 13));
    code = join(code, Bytes{0xff, 0xff, 0xff});
    EXPECT_EQ(Scene(code).plan(0).jump, expected(Reason::BRANCH_INTO_REGION, kText + 7));
}

// Found by fuzz_plan: displacements of 2 bytes were not looked for.
TEST_P(PlanLandingTest, FallbackOfATransactionWithAShortDisplacement) {
    Bytes code = join(kMov5, CODE("nop; ret"), Bytes{0x66, 0xc7, 0xf8});  // at +7, ends at +12
    code.push_back(static_cast<u8>(offset_ - 12));
    code.push_back(0xff);
    EXPECT_EQ(Scene(code).plan(0).jump, expected(Reason::BRANCH_INTO_REGION, kText + 7));
}

TEST_P(PlanLandingTest, ShortJumpFromANeighbour) {
    const u64 neighbour = kText + 0x40;
    const Bytes code = {0x90, 0xeb, static_cast<u8>(offset_ - 0x43)};
    scene_.neighbours = {{neighbour, view(code)}};
    EXPECT_EQ(scene_.plan(0).jump, expected(Reason::BRANCH_INTO_REGION, neighbour + 1));
}

TEST_P(PlanLandingTest, BranchFromAColdPart) {
    const u64 cold = kText + 0x123456;
    scene_.landings = {{Reason::BRANCH_INTO_REGION, cold, target_}};
    EXPECT_EQ(scene_.plan(0).jump, expected(Reason::BRANCH_INTO_REGION, cold));
}

TEST_P(PlanLandingTest, ExceptionFixup) {
    scene_.landings = {{Reason::FIXUP_INTO_REGION, 0, target_}};
    EXPECT_EQ(scene_.plan(0).jump, expected(Reason::FIXUP_INTO_REGION, 0));
}

TEST_P(PlanLandingTest, StoredPointer) {
    const u64 table = kText + 0x800000;
    scene_.landings = {{Reason::POINTER_INTO_REGION, table, target_}};
    EXPECT_EQ(scene_.plan(0).jump, expected(Reason::POINTER_INTO_REGION, table));
}

TEST_P(PlanLandingTest, JumpLabel) {
    const u64 label = kText + 0x30;
    scene_.landings = {{Reason::LABEL_INTO_REGION, label, target_}};
    EXPECT_EQ(scene_.plan(0).jump, expected(Reason::LABEL_INTO_REGION, label));
}

INSTANTIATE_TEST_SUITE_P(, PlanLandingTest, testing::Values(0, 1, 2, 3, 4, 5),
                         [](const auto& info) { return "AtPlus" + std::to_string(info.param); });

TEST(PlanArrivalTest, BranchBehindALockPrefixInsideTheRegionIsRefused) {
    // The region is 4 + 5 bytes; a jump to +5 skips the prefix and would meet the jump's filler.
    const Bytes code = CODE("add rax, 1; lock or [rbx + rcx], rdx; ret");
    EXPECT_EQ(Scene(code).plan(0).region.length, 9);
    EXPECT_EQ(Scene(join(code, CODE(".byte 0xeb, 5 - 12"))).plan(0).jump,
              Refusal(Reason::BRANCH_INTO_REGION, kText + 10, kText + 5));
}

TEST(PlanArrivalTest, RegionMayBranchToItsOwnStart) {
    EXPECT_EQ(Scene(CODE("1: dec rcx; jnz 1b; ret")).plan(0).jump, Refusal());
}

TEST(PlanArrivalTest, RegionMayNotBranchIntoItself) {
    EXPECT_EQ(Scene(CODE("dec rcx; 1: jnz 1b; ret")).plan(0).jump,
              Refusal(Reason::BRANCH_INTO_REGION, kText + 3, kText + 3));
}

TEST(PlanArrivalTest, UndecodableRestOfTheFunctionProvesNothing) {
    // Behind it lies what would be `jz` to +2, if that were an instruction.
    EXPECT_EQ(Scene(join(kMov5, CODE("ret; .byte 0x06, 0x74, 0xf9"))).plan(0).jump,
              Refusal(Reason::UNSCANNABLE, kText + 6));
    // No byte there could be a branch into the region, however it is read.
    EXPECT_TRUE(Scene(join(kMov5, CODE("ret; .byte 0x06"))).plan(0).may_jump());
}

TEST(PlanArrivalTest, UndecodableNeighbourProvesNothing) {
    const Bytes code = CODE("nop; .byte 0x06, 0x74, 0xbe");
    Scene scene(join(kMov5, CODE("ret")));
    scene.neighbours = {{kText + 0x40, view(code)}};
    EXPECT_EQ(scene.plan(0).jump, Refusal(Reason::UNSCANNABLE, kText + 0x41));
}

// --- indirect jumps ---

/// mov; jcc or jmp to a thunk at kText + 0x1000 by `opcode`, whose displacement is 4 bytes.
Scene thunk_scene(Bytes opcode) {
    Bytes code = join(kMov5, opcode);
    const u32 displacement = static_cast<u32>(0x1000 - (code.size() + 4));
    for (int shift = 0; shift < 32; shift += 8)
        code.push_back(static_cast<u8>(displacement >> shift));
    code.push_back(0xc3);
    Scene scene(code);
    scene.indirect_thunks.compiled = {kText + 0x1000, kText + 0x1200};
    return scene;
}

TEST(PlanIndirectTest, JumpThroughMemoryMayLeadAnywhere) {
    for (const bool no_jump_tables : {false, true}) {
        Scene scene(join(kMov5, CODE("jmp [rax*8 + 64]")));
        scene.no_jump_tables = no_jump_tables;
        EXPECT_EQ(scene.plan(0).jump, Refusal(Reason::INDIRECT_JUMP, kText + 5)) << no_jump_tables;
    }
}

TEST(PlanIndirectTest, WhatCannotBeDecodedMayHideOne) {
    Scene scene(join(kMov5, CODE("ret"), Bytes{0x06, 0xff, 0xe0}));
    scene.no_jump_tables = false;
    EXPECT_EQ(scene.plan(0).jump, Refusal(Reason::UNSCANNABLE, kText + 6));
}

TEST(PlanIndirectTest, OfSeveralTheOneIsNamedThatMayLeadAnywhere) {
    Scene scene(join(kMov5, CODE("jz 1f; jmp rax; 1: jmp [rax*8 + 64]")));
    scene.no_jump_tables = true;
    EXPECT_EQ(scene.plan(0).jump, Refusal(Reason::INDIRECT_JUMP, kText + 9));
}

TEST(PlanIndirectTest, JumpThroughARegisterIsATailCallWhereThereAreNoJumpTables) {
    Scene scene(join(kMov5, CODE("jmp rax")));
    scene.no_jump_tables = false;
    EXPECT_EQ(scene.plan(0).jump, Refusal(Reason::INDIRECT_JUMP, kText + 5));
    scene.no_jump_tables = true;
    EXPECT_EQ(scene.plan(0).jump, Refusal());
}

TEST(PlanIndirectTest, FunctionThatTakesAPlaceInItselfMayJumpThere) {
    // Assembly computes such places: no table is needed.
    for (const Bytes& take : {CODE("lea rcx, [rip + 1]"), CODE("mov rcx, 0xffffffff8100000d"),
                              CODE("lea rcx, [rdi*4 - 0x7efffff3]")}) {
        Scene scene(join(kMov5, take, CODE("jmp rax; ret; ret; ret; ret; ret")));
        scene.no_jump_tables = true;
        EXPECT_EQ(scene.plan(0).jump, Refusal(Reason::INDIRECT_JUMP, kText + 5 + take.size()));
    }
}

TEST(PlanIndirectTest, FunctionMayTakeItsOwnStartOrAnotherOne) {
    for (const Bytes& take : {CODE("lea rcx, [rip - 12]"), CODE("mov rcx, 0xffffffff81000800")}) {
        Scene scene(join(kMov5, take, CODE("jmp rax")));
        scene.no_jump_tables = true;
        EXPECT_EQ(scene.plan(0).jump, Refusal());
    }
}

TEST(PlanIndirectTest, ThunkIsATailCallWhereThereAreNoJumpTables) {
    EXPECT_EQ(thunk_scene({0xe9}).plan(0).jump, Refusal());
}

TEST(PlanIndirectTest, ThunkMayServeAJumpTable) {
    Scene scene = thunk_scene({0xe9});
    scene.no_jump_tables = false;
    EXPECT_EQ(scene.plan(0).jump, Refusal(Reason::INDIRECT_JUMP, kText + 5));
}

TEST(PlanIndirectTest, ConditionalJumpToAThunkCountsToo) {
    Scene scene = thunk_scene({0x0f, 0x84});
    EXPECT_EQ(scene.plan(0).jump, Refusal());
    scene.no_jump_tables = false;
    EXPECT_EQ(scene.plan(0).jump, Refusal(Reason::INDIRECT_JUMP, kText + 5));
}

/// As assembly of the kernel does, crc_pcl() for one: a computed jump, by a thunk as
/// thunk_scene()'s, to a place in the function.
Scene computed_jump_scene() {
    Scene scene = thunk_scene(join(CODE("lea rcx, [rip + 5]"), Bytes{0xe9}));
    scene.indirect_thunks.compiled = {kText + 0x2000, kText + 0x2200};
    scene.indirect_thunks.texts[0] = {kText, kText + 0x100000};
    return scene;
}

TEST(PlanIndirectTest, ThunkThatBootHasChosenInstead) {
    EXPECT_EQ(computed_jump_scene().plan(0).jump, Refusal());
    for (const int array : {0, 1}) {
        Scene scene = computed_jump_scene();
        scene.indirect_thunks.at_boot[array] = {kText + 0x1000, kText + 0x1200};
        EXPECT_EQ(scene.plan(0).jump, Refusal(Reason::INDIRECT_JUMP, kText + 12)) << array;
    }
}

TEST(PlanIndirectTest, ThunkThatBootHasMadeOutsideAllText) {
    Scene scene = computed_jump_scene();
    scene.indirect_thunks.texts[0] = {kText, kText + 0x1000};
    EXPECT_EQ(scene.plan(0).jump, Refusal(Reason::INDIRECT_JUMP, kText + 12));
    scene.indirect_thunks.texts[1] = {kText + 0x1000, kText + 0x3000};
    EXPECT_EQ(scene.plan(0).jump, Refusal());
    // A kernel without thunks leaves its text for other reasons.
    scene.indirect_thunks = {};
    scene.indirect_thunks.texts[0] = {kText, kText + 0x1000};
    EXPECT_EQ(scene.plan(0).jump, Refusal());
}

TEST(PlanIndirectTest, CallOfAThunkReturnsBehindItself) {
    Scene scene = thunk_scene({0xe8});
    scene.no_jump_tables = false;
    EXPECT_EQ(scene.plan(0).jump, Refusal());
}

// Kernel commit 833fd800bf56: return thunks were taken for indirect jumps.
TEST(PlanIndirectTest, JumpToAReturnThunkIsNoIndirectJump) {
    Scene scene = thunk_scene({0xe9});
    scene.indirect_thunks.compiled = {kText + 0x2000, kText + 0x2200};
    scene.no_jump_tables = false;
    EXPECT_EQ(scene.plan(0).jump, Refusal());
}

}  // namespace
}  // namespace djprobe::x86
