// SPDX-License-Identifier: GPL-2.0
// Every step of the patch protocol, as every CPU might see it.
#include <gtest/gtest.h>

#include <utility>

#include "arch/x86/detour/detour.h"
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
const Bytes kOneInsn = CODE("mov eax, 0x12345678; ret");
const Bytes kReturn = CODE("pop rbp; ret; int3; int3; int3");
// Its first byte is that of the jump which replaces it.
const Bytes kLongJump = CODE(".byte 0xe9, 0, 1, 0, 0; int3");

const Bytes kShapes[] = {kPrologue,
                         kOneInsn,
                         kReturn,
                         kLongJump,
                         CODE("push rax; push rcx; push rdx; push rbx; mov eax, [rsp + 8]; ret"),
                         CODE("mov rax, [rip + 0x1000]; ret")};

// --- the protocol ---

TEST(PatchProtocolTest, EveryStepOfARoundTripIsSafe) {
    for (const Bytes& code : kShapes) {
        PatchedScene scene(code);
        scene.to_jump();
        scene.to_original();
        EXPECT_EQ(scene.violation(), "");
    }
}

TEST(PatchProtocolTest, EveryStepOfRepeatedOptimizationIsSafe) {
    PatchedScene scene(kPrologue);
    scene.to_jump();
    for (int round = 0; round < 3; ++round) {
        unoptimize(scene.port, scene.batch);
        scene.port.resume_first(kText);
        scene.port.resume_behind(kText);
        scene.port.quiescence();
        optimize(scene.port, scene.batch);
    }
    scene.to_original();
    EXPECT_EQ(scene.violation(), "");
}

TEST(PatchProtocolTest, ARoundTripRestoresEveryByte) {
    for (const Bytes& code : kShapes) {
        PatchedScene scene(code);
        scene.to_jump();
        scene.to_original();
        EXPECT_EQ(scene.port.text(), code);
    }
}

TEST(PatchProtocolTest, OneInstructionNeedsNoQuiescence) {
    PatchedScene scene(kOneInsn);
    ASSERT_EQ(scene.plan.region.count, 1);
    scene.to_jump();
    EXPECT_EQ(scene.port.count(Step::Kind::Quiescence), 0u);
    EXPECT_EQ(scene.violation(), "");
}

TEST(PatchProtocolTest, EveryTransitionEndsWithAllCpusInAgreement) {
    PatchedScene scene(kPrologue);
    arm(scene.port, scene.batch);
    EXPECT_EQ(scene.violation(), "");
    scene.port.resume_behind(kText);
    scene.port.quiescence();
    optimize(scene.port, scene.batch);
    EXPECT_EQ(scene.violation(), "");
    unoptimize(scene.port, scene.batch);
    EXPECT_EQ(scene.violation(), "");
    scene.port.resume_first(kText);
    disarm(scene.port, scene.batch);
    EXPECT_EQ(scene.violation(), "");
}

// --- batches ---

struct Batch {
    static constexpr size_t kSites = 8;
    static constexpr size_t kDistance = 16;
    Bytes text;
    std::vector<PatchSite> sites;
    std::vector<const PatchSite*> all;

    Batch() {
        for (size_t i = 0; i < kSites; ++i) {
            Bytes code = kPrologue;
            code.resize(kDistance, kInt3);
            text = join(text, code);
        }
        sites.resize(kSites);
        for (size_t i = 0; i < kSites; ++i) {
            const Plan plan = Scene(kPrologue, kText + i * kDistance).plan(0);
            EXPECT_EQ(make_jump_site(plan, kEntry + i * kMaxDetour, sites[i]), Refusal());
            all.push_back(&sites[i]);
        }
    }
};

TEST(PatchBatchTest, CoreSyncsDoNotGrowWithTheBatch) {
    const Batch batch;
    JournalPort port(kText, batch.text);
    size_t before = 0;
    const auto syncs_of = [&](const auto& transition) {
        transition();
        const size_t now = port.count(Step::Kind::Sync);
        return now - std::exchange(before, now);
    };
    EXPECT_EQ(syncs_of([&] { arm(port, batch.all); }), 1u);
    EXPECT_EQ(syncs_of([&] { optimize(port, batch.all); }), 2u);
    EXPECT_EQ(syncs_of([&] { unoptimize(port, batch.all); }), 2u);
    EXPECT_EQ(syncs_of([&] { disarm(port, batch.all); }), 1u);
}

TEST(PatchBatchTest, NothingToWriteInterruptsNoCpu) {
    const std::vector<const PatchSite*> none;
    JournalPort port(kText, kPrologue);
    arm(port, none);
    optimize(port, none);
    unoptimize(port, none);
    disarm(port, none);
    EXPECT_EQ(port.count(Step::Kind::Sync), 0u);
}

TEST(PatchBatchTest, EveryStepIsSafeForEverySite) {
    const Batch batch;
    JournalPort port(kText, batch.text);
    arm(port, batch.all);
    for (const PatchSite& site : batch.sites)
        port.resume_behind(site.address);
    port.quiescence();
    optimize(port, batch.all);
    unoptimize(port, batch.all);
    for (const PatchSite& site : batch.sites)
        port.resume_first(site.address);
    disarm(port, batch.all);
    for (const PatchSite& site : batch.sites)
        EXPECT_EQ(ProtocolChecker(site, {1, 4}).check(port.steps()), "");
    EXPECT_EQ(port.text(), batch.text);
}

TEST(PatchBatchTest, EmptyBatchWritesNothing) {
    JournalPort port(kText, kPrologue);
    const std::vector<const PatchSite*> none;
    arm(port, none);
    optimize(port, none);
    EXPECT_EQ(port.count(Step::Kind::Write), 0u);
}

// --- the checker itself: wrong protocols are found ---

class PatchCheckerTest : public testing::Test {
  protected:
    PatchedScene scene_{kPrologue};

    void write(size_t offset, Span<const u8> bytes) { scene_.port.write(kText + offset, bytes); }
    void write_int3() { write(0, {&kInt3, 1}); }
    void write_jump_tail() { write(1, {scene_.site.jump + 1, 5}); }
    void write_original_tail() { write(1, {scene_.site.original + 1, 5}); }
    void write_jump_first() { write(0, {scene_.site.jump, 1}); }
    void write_original_first() { write(0, {scene_.site.original, 1}); }
    void sync() { scene_.port.sync_cores(); }
};

constexpr const char* kTorn = "the site is neither int3 nor original nor jump";

TEST_F(PatchCheckerTest, FindsATailWrittenFirst) {
    write_jump_tail();
    EXPECT_EQ(scene_.violation(), std::string("after step 1: ") + kTorn);
}

TEST_F(PatchCheckerTest, FindsAJumpWrittenAtOnce) {
    write(0, {scene_.site.jump, 6});
    EXPECT_EQ(scene_.violation(), std::string("after step 1: ") + kTorn);
}

// Kernel commit 5c02ece81848: no core sync when a probe was armed.
TEST_F(PatchCheckerTest, FindsAMissingSyncBehindInt3) {
    scene_.port.resume_behind(kText);
    write_int3();
    scene_.port.quiescence();
    write_jump_tail();
    EXPECT_EQ(scene_.violation(), std::string("after step 4: ") + kTorn);
}

TEST_F(PatchCheckerTest, FindsAMissingSyncBehindTheTail) {
    arm(scene_.port, scene_.batch);
    scene_.port.resume_behind(kText);
    scene_.port.quiescence();
    write_jump_tail();
    write_jump_first();
    EXPECT_EQ(scene_.violation(), std::string("after step 6: ") + kTorn);
}

TEST_F(PatchCheckerTest, FindsAMissingSyncAtTheEnd) {
    write_int3();
    EXPECT_EQ(scene_.violation(), "at the end: CPUs disagree");
}

// Kernel commit a30b85df7d59: with preemption a task may stand in the region for long.
TEST_F(PatchCheckerTest, FindsAMissingQuiescence) {
    arm(scene_.port, scene_.batch);
    scene_.port.resume_behind(kText);
    optimize(scene_.port, scene_.batch);
    EXPECT_EQ(scene_.violation(), "after step 4: a task may stand at +1");
}

TEST_F(PatchCheckerTest, FindsAQuiescenceBeforeTheInt3WasSeen) {
    write_int3();
    scene_.port.resume_behind(kText);
    scene_.port.quiescence();
    sync();
    optimize(scene_.port, scene_.batch);
    EXPECT_EQ(scene_.violation(), "after step 5: a task may stand at +1");
}

TEST_F(PatchCheckerTest, FindsAResumePointSwitchedAfterTheQuiescence) {
    arm(scene_.port, scene_.batch);
    scene_.port.quiescence();
    scene_.port.resume_behind(kText);
    optimize(scene_.port, scene_.batch);
    EXPECT_EQ(scene_.violation(), "after step 5: a task may stand at +1");
}

TEST_F(PatchCheckerTest, FindsAResumePointNeverSwitched) {
    arm(scene_.port, scene_.batch);
    scene_.port.quiescence();
    optimize(scene_.port, scene_.batch);
    EXPECT_EQ(scene_.violation(), "after step 4: int3 resumes in a tail that is changed");
}

// Kernel commit f66c0447cca1: hits resumed behind the first instruction while the jump's tail was
// still there.
TEST_F(PatchCheckerTest, FindsAResumePointSwitchedBackTooEarly) {
    scene_.to_jump();
    const size_t steps = scene_.port.steps().size();
    scene_.port.resume_first(kText);
    unoptimize(scene_.port, scene_.batch);
    EXPECT_EQ(scene_.violation(), "after step " + std::to_string(steps + 2) +
                                      ": int3 resumes in a tail that is changed");
}

TEST_F(PatchCheckerTest, FindsAnOriginalTailBehindTheJump) {
    scene_.to_jump();
    const size_t steps = scene_.port.steps().size();
    write_original_tail();
    EXPECT_EQ(scene_.violation(), "after step " + std::to_string(steps + 1) + ": " + kTorn);
}

TEST_F(PatchCheckerTest, FindsAMissingSyncBeforeTheOriginalTail) {
    scene_.to_jump();
    const size_t steps = scene_.port.steps().size();
    write_int3();
    write_original_tail();
    EXPECT_EQ(scene_.violation(), "after step " + std::to_string(steps + 2) + ": " + kTorn);
}

TEST_F(PatchCheckerTest, FindsAMissingSyncBeforeTheOriginalByte) {
    scene_.to_jump();
    const size_t steps = scene_.port.steps().size();
    write_int3();
    sync();
    write_original_tail();
    write_original_first();
    EXPECT_EQ(scene_.violation(), "after step " + std::to_string(steps + 4) + ": " + kTorn);
}

TEST_F(PatchCheckerTest, FindsAnOptimizationOfAnUnarmedSite) {
    scene_.port.resume_behind(kText);
    scene_.port.quiescence();
    optimize(scene_.port, scene_.batch);
    EXPECT_EQ(scene_.violation(), std::string("after step 3: ") + kTorn);
}

}  // namespace
}  // namespace djprobe::x86
