// SPDX-License-Identifier: GPL-2.0
// Refusals of a site as such: neither int3 nor jump.
#include <gtest/gtest.h>

#include "support/printers.h"
#include "support/scene.h"

namespace djprobe::x86 {
namespace {

using test::Bytes;
using test::join;
using test::kText;
using test::Scene;

const Bytes kFrame = CODE("push rbp; mov rbp, rsp; ret");  // at +0, +1, +4

TEST(PlanSiteTest, OrdinaryInstructionIsASite) {
    const Scene scene(kFrame);
    EXPECT_EQ(scene.refusal(0), Refusal());
    EXPECT_EQ(scene.refusal(1), Refusal());
    EXPECT_EQ(scene.refusal(4), Refusal());
}

TEST(PlanSiteTest, PlanHoldsTheProbedInstruction) {
    const Plan plan = Scene(kFrame).plan(1);
    EXPECT_EQ(plan.site, kText + 1);
    EXPECT_EQ(plan.first.address, kText + 1);
    EXPECT_EQ(plan.first.length, 3);
    EXPECT_EQ(Bytes(plan.first_bytes, plan.first_bytes + 3), CODE("mov rbp, rsp"));
}

TEST(PlanSiteTest, InsideAnInstructionIsNoBoundary) {
    const Scene scene(kFrame);
    EXPECT_EQ(scene.refusal(2), Refusal(Reason::NOT_BOUNDARY, kText + 1, kText + 4));
    EXPECT_EQ(scene.refusal(3), Refusal(Reason::NOT_BOUNDARY, kText + 1, kText + 4));
}

TEST(PlanSiteTest, BehindTheFunctionIsPastItsEnd) {
    const Scene scene(kFrame);
    EXPECT_EQ(scene.refusal(5), Refusal(Reason::PAST_END, kText, kText + 5));
    EXPECT_EQ(scene.refusal(1000), Refusal(Reason::PAST_END, kText, kText + 5));
}

TEST(PlanSiteTest, BeforeTheFunctionIsPastItsEndToo) {
    const Scene scene(kFrame);
    EXPECT_EQ(scene.refusal(static_cast<size_t>(-1)), Refusal(Reason::PAST_END, kText, kText + 5));
}

TEST(PlanSiteTest, PaddingIsPastTheEnd) {
    const Scene scene(join(kFrame, CODE("int3; nop; .byte 0, 0")));
    for (size_t offset = 5; offset < scene.function.size(); ++offset)
        EXPECT_EQ(scene.refusal(offset), Refusal(Reason::PAST_END, kText, kText + 5)) << offset;
}

TEST(PlanSiteTest, EmptyFunctionHasNoSite) {
    EXPECT_EQ(Scene(Bytes{}).refusal(0), Refusal(Reason::PAST_END, kText, kText));
}

TEST(PlanSiteTest, UndecodableBytesBeforeTheSite) {
    const Scene scene(CODE("nop; .byte 0x06; nop; ret"));
    EXPECT_EQ(scene.refusal(2), Refusal(Reason::UNDECODABLE, kText + 1));
}

TEST(PlanSiteTest, UndecodableSite) {
    const Scene scene(CODE("nop; .byte 0x06; nop; ret"));
    EXPECT_EQ(scene.refusal(1), Refusal(Reason::UNDECODABLE, kText + 1));
}

TEST(PlanSiteTest, InstructionCutOffByTheEndIsUndecodable) {
    const Scene scene(CODE("nop; .byte 0x48, 0x8b"));
    EXPECT_EQ(scene.refusal(1), Refusal(Reason::UNDECODABLE, kText + 1));
}

TEST(PlanSiteTest, ReservedSiteTellsWhoseItIs) {
    Scene scene(CODE(".byte 0x0f, 0x1f, 0x44, 0, 0; ret"));
    scene.reserved = {{{kText, kText + 5}, Reason::FTRACE_SITE}};
    EXPECT_EQ(scene.refusal(0), Refusal(Reason::FTRACE_SITE, kText));
    EXPECT_EQ(scene.refusal(5), Refusal());
}

TEST(PlanSiteTest, AReservedByteInsideTheInstructionReservesIt) {
    Scene scene(CODE("mov eax, 0x12345678; ret"));
    scene.reserved = {{{kText + 4, kText + 5}, Reason::FOREIGN_PATCH}};
    EXPECT_EQ(scene.refusal(0), Refusal(Reason::FOREIGN_PATCH, kText));
}

struct RefusedInsn {
    const char* name;
    Bytes bytes;
    Reason reason;
};

void PrintTo(const RefusedInsn& insn, std::ostream* out) {
    *out << insn.name;
}

class PlanSiteInsnTest : public testing::TestWithParam<RefusedInsn> {};

TEST_P(PlanSiteInsnTest, IsNoSite) {
    const Scene scene(join(CODE("nop"), GetParam().bytes, CODE("mov eax, 0x12345678; ret")));
    EXPECT_EQ(scene.refusal(1), Refusal(GetParam().reason, kText + 1));
}

INSTANTIATE_TEST_SUITE_P(
    , PlanSiteInsnTest,
    testing::Values(
        RefusedInsn{"Int3", CODE("int3"), Reason::TRAP_INSN},
        RefusedInsn{"Ud2", CODE("ud2"), Reason::TRAP_INSN},
        RefusedInsn{"IntN", CODE("int 0x80"), Reason::TRAP_INSN},
        RefusedInsn{"Endbr64", CODE("endbr64"), Reason::ENDBR},
        RefusedInsn{"Hlt", CODE("hlt"), Reason::SYSTEM_FLOW},
        RefusedInsn{"Vmrun", CODE("vmrun"), Reason::SYSTEM_FLOW},
        RefusedInsn{"Iretq", CODE("iretq"), Reason::SYSTEM_FLOW},
        RefusedInsn{"Sysretq", CODE("sysretq"), Reason::SYSTEM_FLOW},
        RefusedInsn{"Swapgs", CODE("swapgs"), Reason::SYSTEM_FLOW},
        RefusedInsn{"FarReturn", CODE("retfq"), Reason::SYSTEM_FLOW},
        RefusedInsn{"Sti", CODE("sti"), Reason::INTERRUPT_SHADOW},
        RefusedInsn{"MovSs", CODE("mov ss, eax"), Reason::INTERRUPT_SHADOW},
        RefusedInsn{"Xbegin", CODE(".byte 0xc7, 0xf8, 0, 0, 0, 0"), Reason::NOT_RELOCATABLE},
        RefusedInsn{"EipRelative", CODE("mov eax, [eip + 8]"), Reason::NOT_RELOCATABLE},
        RefusedInsn{"JumpWithOperandSizePrefix", CODE(".byte 0x66, 0xeb, 0"),
                    Reason::NOT_RELOCATABLE},
        RefusedInsn{"CallThroughTheStack", CODE("call [rsp + 8]"), Reason::NOT_RELOCATABLE},
        RefusedInsn{"CallOfTheStackPointer", CODE("call rsp"), Reason::NOT_RELOCATABLE}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace djprobe::x86
