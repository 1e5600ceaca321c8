// SPDX-License-Identifier: GPL-2.0
// What the transitions write, and what is checked between them.
#include "arch/x86/detour/patch.h"

#include <gtest/gtest.h>

#include <array>

#include "support/patched_scene.h"

namespace djprobe::x86 {
namespace {

using test::Bytes;
using test::join;
using test::JournalPort;
using test::kEntry;
using test::kText;
using test::PatchedScene;
using test::ProtocolChecker;
using test::Scene;
using test::Step;

const Bytes kPrologue = CODE("push rbp; mov rbp, rsp; push r15; ret");  // 1 + 3 + 2

// --- the bytes ---

TEST(PatchSiteTest, JumpLeadsToTheEntry) {
    const PatchedScene scene(kPrologue);
    Insn jump;
    ASSERT_TRUE(decode({scene.site.jump, scene.site.length}, kText, jump));
    EXPECT_EQ(jump.kind, Kind::Jump);
    EXPECT_EQ(jump.length, 5);
    EXPECT_EQ(jump.target, kEntry);
}

TEST(PatchSiteTest, RestOfTheRegionBecomesFiller) {
    const PatchedScene scene(kPrologue);
    ASSERT_EQ(scene.site.length, 6);
    EXPECT_EQ(scene.site.jump[5], kInt3);
}

TEST(PatchSiteTest, OriginalBytesAreTheRegions) {
    const PatchedScene scene(kPrologue);
    EXPECT_EQ(Bytes(scene.site.original, scene.site.original + 6),
              Bytes(kPrologue.begin(), kPrologue.begin() + 6));
}

TEST(PatchSiteTest, EntryOutOfReach) {
    PatchSite site;
    const Plan plan = Scene(kPrologue).plan(0);
    EXPECT_EQ(make_jump_site(plan, kText + 5 + 0x80000000, site),
              Refusal(Reason::OUT_OF_REACH, kText));
    EXPECT_EQ(make_jump_site(plan, kText + 5 + 0x7fffffff, site), Refusal());
    EXPECT_EQ(make_jump_site(plan, kText + 5 - 0x80000000, site), Refusal());
    EXPECT_EQ(make_jump_site(plan, kText + 4 - 0x80000000, site),
              Refusal(Reason::OUT_OF_REACH, kText));
}

TEST(PatchSiteTest, SiteThatStaysAtInt3IsOneByte) {
    const PatchSite site = make_breakpoint_site(Scene(kPrologue).plan(0));
    EXPECT_EQ(site.address, kText);
    EXPECT_EQ(site.length, 1);
    EXPECT_EQ(site.original[0], kPrologue[0]);
}

// --- transitions ---

TEST(PatchTest, ArmWritesInt3) {
    PatchedScene scene(kPrologue);
    arm(scene.port, scene.batch);
    EXPECT_EQ(scene.port.text(), join(CODE("int3"), Bytes(kPrologue.begin() + 1, kPrologue.end())));
}

TEST(PatchTest, OptimizeWritesTheJump) {
    PatchedScene scene(kPrologue);
    scene.to_jump();
    EXPECT_EQ(scene.port.text(), join(Bytes(scene.site.jump, scene.site.jump + 6), CODE("ret")));
}

TEST(PatchTest, UnoptimizeLeavesInt3BeforeTheOriginal) {
    PatchedScene scene(kPrologue);
    scene.to_jump();
    unoptimize(scene.port, scene.batch);
    EXPECT_EQ(scene.port.text(), join(CODE("int3"), Bytes(kPrologue.begin() + 1, kPrologue.end())));
}

TEST(PatchTest, BreakpointSiteNeverTouchesTheTail) {
    const PatchSite site = make_breakpoint_site(Scene(kPrologue).plan(0));
    JournalPort port(kText, kPrologue);
    const std::array<const PatchSite*, 1> batch{&site};
    arm(port, batch);
    disarm(port, batch);
    for (const Step& step : port.steps())
        EXPECT_LE(step.bytes.size(), 1u);
    EXPECT_EQ(port.text(), kPrologue);
    EXPECT_EQ(ProtocolChecker(site, {}).check(port.steps()), "");
}

TEST(PatchTest, OnlySingleBytesAreWrittenAtTheSite) {
    PatchedScene scene(kPrologue);
    scene.to_jump();
    scene.to_original();
    for (const Step& step : scene.port.steps())
        if (step.kind == Step::Kind::Write) {
            EXPECT_EQ(step.address == kText, step.bytes.size() == 1);
        }
}

// --- the text between transitions ---

class PatchCheckTextTest : public testing::TestWithParam<TextForm> {
  protected:
    PatchedScene scene_{kPrologue};

    void SetUp() override {
        if (GetParam() == TextForm::Breakpoint) arm(scene_.port, scene_.batch);
        if (GetParam() == TextForm::Jump) scene_.to_jump();
    }
    Refusal check() { return check_text(scene_.port, scene_.site, GetParam()); }
};

std::string form_name(const testing::TestParamInfo<TextForm>& info) {
    static constexpr const char* kNames[] = {"Original", "Breakpoint", "Jump"};
    return kNames[static_cast<size_t>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(, PatchCheckTextTest,
                         testing::Values(TextForm::Original, TextForm::Breakpoint, TextForm::Jump),
                         form_name);

TEST_P(PatchCheckTextTest, OwnFormIsAccepted) {
    EXPECT_EQ(check(), Refusal());
}

TEST_P(PatchCheckTextTest, OtherFormsDifferFromTheFirstByteOn) {
    for (const TextForm form : {TextForm::Original, TextForm::Breakpoint, TextForm::Jump})
        if (form != GetParam()) {
            EXPECT_EQ(check_text(scene_.port, scene_.site, form),
                      Refusal(Reason::FOREIGN_PATCH, kText));
        }
}

TEST_P(PatchCheckTextTest, ForeignByteIsNamedWhereverItIs) {
    for (size_t i = 0; i < scene_.site.length; ++i) {
        const u8 was = scene_.port.text()[i];
        scene_.port.foreign_write(kText + i, 0x42);
        EXPECT_EQ(check(), Refusal(Reason::FOREIGN_PATCH, kText + i));
        scene_.port.foreign_write(kText + i, was);
    }
    EXPECT_EQ(check(), Refusal());
}

TEST_P(PatchCheckTextTest, ForeignByteBehindTheRegionIsNotOurs) {
    scene_.port.foreign_write(kText + 6, 0x42);
    EXPECT_EQ(check(), Refusal());
}

TEST_P(PatchCheckTextTest, CheckingWritesNothing) {
    const size_t steps = scene_.port.steps().size();
    EXPECT_EQ(check(), Refusal());
    EXPECT_EQ(scene_.port.steps().size(), steps);
}

}  // namespace
}  // namespace djprobe::x86
