// SPDX-License-Identifier: GPL-2.0
// Slides and springboards: what is written, and every step as every CPU might see it.
#include <gtest/gtest.h>

#include <array>

#include "support/board_checker.h"
#include "support/patched_scene.h"

namespace djprobe::x86 {
namespace {

using test::BoardChecker;
using test::Bytes;
using test::JournalPort;
using test::kEntry;
using test::kText;
using test::ProtocolChecker;
using test::Scene;

Insn decoded(const u8* bytes, size_t length, u64 address) {
    Insn insn;
    EXPECT_TRUE(decode({bytes, length}, address, insn));
    return insn;
}

// --- slides ---

/// The pop, behind which there is no room.
struct SlideScene {
    static constexpr size_t kSite = 8, kAnchor = 4;
    Bytes code = CODE("push rbp; mov rbp, rsp; lea rax, [rdi + rdi*2]; pop rbp; ret; ud2");
    Plan plan;
    PatchSite breakpoint, jump;
    std::array<const PatchSite*, 1> site{&breakpoint}, anchor{&jump};
    JournalPort port;

    SlideScene() : port(kText, code) {
        Scene scene(code);
        scene.tactics = kAllTactics;
        plan = scene.plan(kSite);
        EXPECT_EQ(plan.tactic, Tactic::Slide);
        breakpoint = make_breakpoint_site(plan);
        EXPECT_EQ(make_jump_site(plan, kEntry, jump), Refusal());
    }
    SlideScene(const SlideScene&) = delete;

    void to_jump() {
        arm(port, site);
        arm(port, anchor);
        port.resume_behind(jump.address);
        port.quiescence();
        optimize(port, anchor);
    }
    void to_original() {
        unoptimize(port, anchor);
        disarm(port, anchor);
        disarm(port, site);
    }
    /// The violation in the anchor's region, once the IA has its int3: `jump` calls that original.
    /// A task that meets the anchor's int3 goes through the whole detour.
    std::string violation() const {
        std::vector<test::Step> steps(port.steps().begin() + 2, port.steps().end());
        steps.insert(steps.begin(), {test::Step::Kind::ResumeBehind, jump.address, {}});
        std::vector<size_t> inner;
        for (size_t i = 1; i < plan.region.count; ++i)
            inner.push_back(plan.region.insns[i].address - jump.address);
        // The last two steps belong to the IA again.
        if (port.text() == code) steps.resize(steps.size() - 2);
        return ProtocolChecker(jump, inner).check(steps);
    }
};

TEST(PatchSlideTest, TheJumpIsAtTheAnchorAndItsOriginalHasTheSitesInt3) {
    const SlideScene scene;
    EXPECT_EQ(scene.breakpoint.address, kText + SlideScene::kSite);
    EXPECT_EQ(scene.jump.address, kText + SlideScene::kAnchor);
    EXPECT_EQ(scene.jump.length, 5);
    EXPECT_EQ(decoded(scene.jump.jump, 5, scene.jump.address).target, kEntry);
    Bytes original(scene.code.begin() + 4, scene.code.begin() + 9);
    original[4] = kInt3;
    EXPECT_EQ(Bytes(scene.jump.original, scene.jump.original + 5), original);
}

TEST(PatchSlideTest, EveryStepOfARoundTripIsSafe) {
    SlideScene scene;
    scene.to_jump();
    EXPECT_EQ(scene.violation(), "");
    scene.to_original();
    EXPECT_EQ(scene.violation(), "");
}

TEST(PatchSlideTest, ARoundTripRestoresEveryByte) {
    SlideScene scene;
    scene.to_jump();
    EXPECT_EQ(Bytes(scene.port.text().begin() + 4, scene.port.text().begin() + 9),
              Bytes(scene.jump.jump, scene.jump.jump + 5));
    scene.to_original();
    EXPECT_EQ(scene.port.text(), scene.code);
}

TEST(PatchSlideTest, TheSiteTrapsAllTheTimeBetween) {
    SlideScene scene;
    const size_t site = SlideScene::kSite;
    arm(scene.port, scene.site);
    arm(scene.port, scene.anchor);
    EXPECT_EQ(scene.port.text()[site], kInt3);
    scene.port.quiescence();
    optimize(scene.port, scene.anchor);
    unoptimize(scene.port, scene.anchor);
    EXPECT_EQ(scene.port.text()[site], kInt3);
    disarm(scene.port, scene.anchor);
    EXPECT_EQ(scene.port.text()[site], kInt3);
}

TEST(PatchSlideTest, AJumpWithoutTheAnchorsInt3IsFound) {
    SlideScene scene;
    arm(scene.port, scene.site);
    scene.port.quiescence();
    optimize(scene.port, scene.anchor);
    EXPECT_NE(scene.violation(), "");
}

TEST(PatchSlideTest, AMissingQuiescenceIsFound) {
    SlideScene scene;
    arm(scene.port, scene.site);
    arm(scene.port, scene.anchor);
    optimize(scene.port, scene.anchor);
    EXPECT_EQ(scene.violation(), "after step 4: a task may stand at +4");
}

// --- springboards ---

struct BoardScene {
    static constexpr size_t kPadding = 14;  // without the int3 that belongs to the ret
    Bytes code =
        CODE("1: inc edx; 2: add rax, rdi; dec ecx; jnz 1b; js 2b; nop; ret; .fill 9, 1, 0xcc");
    Plan plan;
    PatchSite site, board;
    std::array<const PatchSite*, 1> batch{&site};
    JournalPort port;

    BoardScene() : port(kText, code) {
        Scene scene(code);
        scene.tactics = kAllTactics;
        plan = scene.plan(0);
        EXPECT_EQ(plan.tactic, Tactic::Springboard);
        EXPECT_EQ(make_jump_site(plan, kEntry, site), Refusal());
        EXPECT_EQ(make_board(plan, kEntry, board), Refusal());
    }
    BoardScene(const BoardScene&) = delete;

    void to_jump() {
        arm(port, batch);
        port.resume_behind(kText);
        port.quiescence();
        write_board(port, board);
        optimize(port, batch);
    }
    std::string violation() const {
        const std::string site_violation = ProtocolChecker(site, {}).check(port.steps());
        return site_violation.empty() ? BoardChecker(site, board).check(port.steps())
                                      : site_violation;
    }
};

TEST(PatchBoardTest, AShortJumpLeadsToTheBoardAndTheBoardToTheEntry) {
    const BoardScene scene;
    EXPECT_EQ(scene.site.length, 2);
    const Insn hop = decoded(scene.site.jump, 2, kText);
    EXPECT_EQ(hop.kind, Kind::Jump);
    EXPECT_EQ(hop.length, 2);
    EXPECT_EQ(hop.target, scene.board.address);
    EXPECT_EQ(scene.board.address, kText + BoardScene::kPadding);
    EXPECT_EQ(scene.board.length, 5);
    EXPECT_EQ(decoded(scene.board.jump, 5, scene.board.address).target, kEntry);
    EXPECT_EQ(Bytes(scene.board.original, scene.board.original + 5), Bytes(5, kInt3));
}

TEST(PatchBoardTest, TheEntryMustBeInReachOfTheBoard) {
    const BoardScene scene;
    PatchSite board;
    const u64 behind = scene.board.address + 5;
    EXPECT_EQ(make_board(scene.plan, behind + 0x7fffffff, board), Refusal());
    EXPECT_EQ(make_board(scene.plan, behind + 0x80000000, board),
              Refusal(Reason::OUT_OF_REACH, scene.board.address));
    // From the site itself nothing but the board has to be.
    PatchSite site;
    EXPECT_EQ(make_jump_site(scene.plan, behind + 0x80000000, site), Refusal());
}

TEST(PatchBoardTest, EveryStepOfARoundTripIsSafeAndRestoresEveryByte) {
    BoardScene scene;
    scene.to_jump();
    unoptimize(scene.port, scene.batch);
    scene.port.resume_first(kText);
    scene.port.quiescence();
    restore_board(scene.port, scene.board);
    scene.port.sync_cores();
    disarm(scene.port, scene.batch);
    EXPECT_EQ(scene.violation(), "");
    EXPECT_EQ(scene.port.text(), scene.code);
}

TEST(PatchBoardTest, ABoardThatIsWrittenTooLateIsFound) {
    BoardScene scene;
    arm(scene.port, scene.batch);
    scene.port.resume_behind(kText);
    scene.port.quiescence();
    optimize(scene.port, scene.batch);
    write_board(scene.port, scene.board);
    EXPECT_EQ(scene.violation(),
              "after step 7: a task may be on the board, which is no jump at +0");
}

TEST(PatchBoardTest, ABoardThatIsRestoredWithoutQuiescenceIsFound) {
    BoardScene scene;
    scene.to_jump();
    const size_t steps = scene.port.steps().size();
    unoptimize(scene.port, scene.batch);
    restore_board(scene.port, scene.board);
    EXPECT_EQ(scene.violation(), "after step " + std::to_string(steps + 5) +
                                     ": a task may be on the board, which is no jump at +0");
}

TEST(PatchBoardTest, ABoardThatIsRestoredBeforeTheJumpHasGoneIsFound) {
    BoardScene scene;
    scene.to_jump();
    scene.port.quiescence();
    restore_board(scene.port, scene.board);
    EXPECT_NE(scene.violation(), "");
}

}  // namespace
}  // namespace djprobe::x86
