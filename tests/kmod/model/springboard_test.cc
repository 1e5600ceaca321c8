// SPDX-License-Identifier: GPL-2.0
// Springboards that another patcher has touched, or is about to.
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <vector>

#include "arch/x86/analysis/snapshot.h"
#include "sites.h"

namespace djprobe::model {
namespace {

TEST(Springboard, NoSpringboardOverAKprobeThatIsNotInTheText) {
    int seen = 0;
    for_each_jump(DJPROBE_TACTIC_SPRINGBOARD, false, [&](u64 seed, u64 site, djp_verdict verdict) {
        Session session(seed);
        Kernel& kernel = session.kernel;
        const u64 board = pad_with_nop(kernel.image, site, verdict.board);
        if (!board) return false;
        Probe* probe = session.attach_one({.address = site});
        EXPECT_TRUE(probe);
        EXPECT_EQ(session.explain(site).board, board);
        EXPECT_EQ(state_of(session, *probe), DJPROBE_STATE_OPTIMIZING);
        EXPECT_TRUE(kernel.kprobes.add(board, false));
        session.disturbed(board);
        session.settle();
        EXPECT_EQ(state_of(session, *probe), DJPROBE_STATE_ARMED);
        // The model knows whether that would overwrite anything.
        kernel.kprobes.arm(board);
        kernel.kprobes.remove(board);
        session.finish();
        return ++seen == 3;
    });
    EXPECT_GT(seen, 0);
}

/// A site without a springboard whose jump has one of these bytes as filler. 0: there is none.
u64 site_with_filler(Session& session, Range bytes) {
    for (u64 at = bytes.begin - x86::kMaxRegion; at < bytes.end; ++at) {
        const djp_verdict verdict = session.explain(at);
        if (verdict.verdict != DJPROBE_VERDICT_JUMP || verdict.board) continue;
        if (bytes.overlaps({verdict.anchor, verdict.anchor + verdict.region_len})) return at;
    }
    return 0;
}

class Filler : public testing::TestWithParam<int> {};

// The filler of a jump that was there first is padding: a springboard may be planned in it.
TEST_P(Filler, OfAJumpAndASpringboardInItsFillerTheFirstStays) {
    int seen = 0;
    for_each_jump(DJPROBE_TACTIC_SPRINGBOARD, false, [&](u64 seed, u64 site, djp_verdict verdict) {
        Session session(seed);
        const u64 other =
            site_with_filler(session, {verdict.board, verdict.board + x86::kJumpLength});
        if (!other) return false;
        Probe* const first = session.attach_one({.address = other, .program = GetParam()});
        // A counter's site rests.
        session.settle();
        Probe* const second = session.attach_one({.address = site});
        session.settle();
        EXPECT_EQ(state_of(session, *first), DJPROBE_STATE_OPTIMIZED);
        const djp_status held = session.query(*second);
        EXPECT_EQ(held.state, DJPROBE_STATE_ARMED);
        EXPECT_EQ(held.reason, DJPROBE_REASON_OVERLAP);
        EXPECT_EQ(held.detail[0], other);
        EXPECT_FALSE(session.kernel.kicked_later) << "the optimizer would never rest";
        // The newest one is asked first.
        session.set_optimization(false);
        session.set_optimization(true);
        session.settle();
        EXPECT_EQ(state_of(session, *second), DJPROBE_STATE_OPTIMIZED);
        EXPECT_EQ(session.query(*first).reason, DJPROBE_REASON_OVERLAP);
        EXPECT_FALSE(session.kernel.kicked_later);
        session.detach({second});
        session.settle();
        EXPECT_EQ(state_of(session, *first), DJPROBE_STATE_OPTIMIZED);
        Probe* const third = session.attach_one({.address = site});
        session.settle();
        EXPECT_EQ(state_of(session, *third), DJPROBE_STATE_ARMED);
        session.detach({first});
        session.settle();
        EXPECT_EQ(state_of(session, *third), DJPROBE_STATE_OPTIMIZED);
        session.finish();
        return ++seen == 3;
    });
    EXPECT_GT(seen, 0);
}

INSTANTIATE_TEST_SUITE_P(All, Filler, testing::Values(Kernel::kCFunction, Kernel::kCounter));

TEST(Springboard, ASpringboardThatAnotherPatcherHasChangedIsLeftAlone) {
    for_each_jump(DJPROBE_TACTIC_SPRINGBOARD, false, [&](u64 seed, u64 site, djp_verdict verdict) {
        Session session(seed);
        Kernel& kernel = session.kernel;
        Probe* probe = session.attach_one({.address = site});
        session.settle();
        session.detach({probe});
        u8& theirs = *kernel.image.text(verdict.board + 2);
        theirs ^= 1;
        const u8 now = theirs;
        session.settle();
        EXPECT_EQ(theirs, now);
        EXPECT_EQ(kernel.kept, 1);
        theirs ^= 1;
        session.settle();
        EXPECT_EQ(kernel.kept, 0);
        session.finish();
        return true;
    });
}

TEST(Springboard, AKprobeOnASpringboardThatIsAboutToGoKeepsTheModule) {
    for (const bool late : {false, true})
        for_each_jump(DJPROBE_TACTIC_SPRINGBOARD, false,
                      [&](u64 seed, u64 site, djp_verdict verdict) {
                          Session session(seed);
                          Kernel& kernel = session.kernel;
                          const u64 board = pad_with_nop(kernel.image, site, verdict.board);
                          if (!board) return false;
                          Probe* probe = session.attach_one({.address = site});
                          session.settle();
                          session.disturbed(board);
                          const auto add = [&] {
                              if (!kernel.kprobes.find(board)) {
                                  EXPECT_TRUE(kernel.kprobes.add(board, false));
                              }
                          };
                          if (late)
                              kernel.on_quiesce = [&](bool) { add(); };
                          else
                              add();
                          session.detach({probe});
                          if (!late) {
                              // At once: the test cannot know when the worker comes.
                              EXPECT_EQ(kernel.kept, 1);
                          }
                          session.settle();
                          kernel.on_quiesce = {};
                          EXPECT_EQ(kernel.kept, 1);
                          kernel.kprobes.remove(board);
                          session.settle();
                          EXPECT_EQ(kernel.kept, 0);
                          session.finish();
                          return true;
                      });
}

/// What is said of every byte around a springboard and of its function's returns.
std::vector<std::array<u64, 4>> verdicts_around(Session& session, u64 board) {
    std::vector<std::array<u64, 4>> all;
    for (u64 at = board - 64; at < board + 64; ++at) {
        unsigned int reason = 0;
        const djp_verdict verdict = session.explain(at, &reason);
        all.push_back({at, verdict.verdict, reason, verdict.board});
    }
    djp_request request = {};
    request.address = session.kernel.image.function_at(board)->start;
    request.where = DJP_RETURNS;
    djp_verdict worst = {};
    (void)djp_explain(&request, &worst);
    all.push_back({request.address, worst.verdict, request.reason, worst.anchor});
    return all;
}

TEST(Springboard, UntilADetachedSpringboardIsRestoredItCountsAsPadding) {
    size_t seen = 0;
    for_each_jump(DJPROBE_TACTIC_SPRINGBOARD, false, [&](u64 seed, u64 site, djp_verdict verdict) {
        Session session(seed);
        const auto before = verdicts_around(session, verdict.board);
        Probe* probe = session.attach_one({.address = site});
        session.settle();
        session.detach({probe});
        EXPECT_NE(*session.kernel.image.text(verdict.board),
                  *session.kernel.image.original(verdict.board));
        EXPECT_EQ(verdicts_around(session, verdict.board), before) << "image " << seed;
        bool waited = false;
        session.kernel.on_quiesce = [&](bool locked) {
            if (locked || waited) return;
            waited = true;
            EXPECT_EQ(verdicts_around(session, verdict.board), before) << "image " << seed;
        };
        session.settle();
        session.kernel.on_quiesce = {};
        EXPECT_TRUE(waited);
        session.finish();
        return ++seen == 64;
    });
    EXPECT_GT(seen, 16u);
}

/// A site whose springboard the kernel takes a kprobe on, once pad_with_nop() has been there.
Found find_padded(u64& board) {
    Found found;
    for_each_jump(DJPROBE_TACTIC_SPRINGBOARD, false, [&](u64 seed, u64 site, djp_verdict verdict) {
        Session session(seed);
        found = {seed, site, {}};
        board = verdict.board;
        return pad_with_nop(session.kernel.image, site, board) != 0;
    });
    return found;
}

TEST(Springboard, ASpringboardUnderAKprobeIsTakenBackWhenThatLeaves) {
    // A kprobe can be where the instructions of the padding begin.
    u64 behind_int3 = 0;
    const Found found = find_padded(behind_int3);
    for (const bool armed : {false, true}) {
        Session session(found.seed);
        Kernel& kernel = session.kernel;
        pad_with_nop(kernel.image, found.address, behind_int3);
        Probe* probe = session.attach_one({.address = found.address});
        session.settle();
        ASSERT_EQ(state_of(session, *probe), DJPROBE_STATE_OPTIMIZED);
        const u64 board = session.explain(found.address).board;
        ASSERT_TRUE(kernel.kprobes.add(board, armed));
        session.disturbed(board);
        session.detach({probe});
        session.settle();
        EXPECT_EQ(kernel.kept, 1);
        EXPECT_TRUE(kernel.kicked_later);
        // Its text belongs neither to the kernel nor to a module that stays.
        EXPECT_NE(session.attach({{.address = board}}).reason, 0u);
        ASSERT_TRUE(kernel.kprobes.remove(board));
        session.settle();
        EXPECT_EQ(kernel.kept, 0);
        EXPECT_FALSE(kernel.kicked_later);
        EXPECT_EQ(kernel.watch.find_changed(kernel.image.core()), 0u);
        session.finish();
    }
}

TEST(Springboard, AKprobeComesOntoASpringboardRightBeforeTheModuleGoes) {
    u64 behind_int3 = 0;
    const Found found = find_padded(behind_int3);
    Session session(found.seed);
    Kernel& kernel = session.kernel;
    pad_with_nop(kernel.image, found.address, behind_int3);
    Probe* probe = session.attach_one({.address = found.address});
    session.settle();
    const u64 board = session.explain(found.address).board;
    session.detach({probe});
    ASSERT_TRUE(kernel.kprobes.add(board, true));
    session.stop();
    // Nothing of ours is lost, and what stays in the text is told.
    EXPECT_EQ(kernel.kept, 0);
    EXPECT_EQ(kernel.watch.boards_left(), std::set<u64>{board});
    ASSERT_TRUE(kernel.kprobes.remove(board));
    EXPECT_EQ(kernel.watch.find_changed(kernel.image.core()), 0u);
}

}  // namespace
}  // namespace djprobe::model
