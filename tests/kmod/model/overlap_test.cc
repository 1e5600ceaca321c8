// SPDX-License-Identifier: GPL-2.0
// Sites whose regions overlap: in which order they come and go, who has the jump, who gets it
// later.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "arch/x86/analysis/plan.h"
#include "sites.h"

namespace djprobe::model {
namespace {

TEST(Overlap, OverlappingProbesInAllOrders) {
    // Kernel commit f1c97a1b4ef7: a probe within another's displaced bytes, disabled, its neighbour
    // unregistered, and enabled again: the int3 must come back and stay.
    const Found found = find_image(false, DJPROBE_TACTIC_WINDOW, 1);
    const std::array<u64, 2> places = {found.address, found.inside[0]};
    enum Action { kFirstOff, kFirstOn, kFirstGone, kSecondOff, kSecondOn, kSecondGone };
    std::array<int, 6> order = {0, 1, 2, 3, 4, 5};
    do {
        for (const bool settling : {false, true})
            for (const bool swapped : {false, true}) {
                Session session(found.seed);
                std::array<Probe*, 2> probes{};
                for (const bool second : {swapped, !swapped}) {
                    probes[second] = session.attach_one({.address = places[second]});
                    ASSERT_TRUE(probes[second]);
                    if (settling) session.settle();
                }
                for (const int action : order) {
                    Probe*& probe = probes[action / 3];
                    if (!probe) continue;
                    if (action % 3 == 0) session.disable({probe});
                    if (action % 3 == 1) {
                        EXPECT_EQ(session.enable({probe}).reason, 0u);
                    }
                    if (action % 3 == 2) {
                        session.detach({probe});
                        probe = nullptr;
                    }
                    if (settling) session.settle();
                }
                session.finish();
            }
    } while (std::next_permutation(order.begin(), order.end()));
}

TEST(Overlap, AJumpGivesWayAndComesBack) {
    for (const unsigned int tactic : {DJPROBE_TACTIC_WINDOW, DJPROBE_TACTIC_SLIDE}) {
        const Found found = find_image(false, tactic, tactic == DJPROBE_TACTIC_WINDOW);
        Session session(found.seed);
        Probe* jump = session.attach_one({.address = found.address, .program = 0});
        session.settle();
        ASSERT_EQ(state_of(session, *jump), DJPROBE_STATE_OPTIMIZED);
        const u64 anchor = session.query(*jump).anchor;
        Probe* within = session.attach_one(
            {.address = tactic == DJPROBE_TACTIC_SLIDE ? anchor : found.inside[0], .program = 0});
        ASSERT_TRUE(within);
        if (tactic == DJPROBE_TACTIC_WINDOW) {
            EXPECT_EQ(state_of(session, *jump), DJPROBE_STATE_ARMED);
            EXPECT_EQ(session.query(*jump).reason, DJPROBE_REASON_OVERLAP);
        }
        session.settle();
        session.detach({within});
        session.settle();
        EXPECT_EQ(state_of(session, *jump), DJPROBE_STATE_OPTIMIZED);
        session.finish();
    }
}

/// The first window that a slide from behind would overlap, with neither's IA in the other's
/// region.
bool find_overlap(Session& session, u64& window, u64& slide) {
    for (const Place& place : session.kernel.image.places) {
        slide = place.start();
        const djp_verdict late = session.explain(slide);
        if (late.verdict != DJPROBE_VERDICT_JUMP || late.tactic != DJPROBE_TACTIC_SLIDE) continue;
        for (window = late.anchor - 1; window > late.anchor - x86::kMaxRegion; --window) {
            const Place* first = session.kernel.image.place_at(window);
            if (!first) continue;
            const djp_verdict early = session.explain(window);
            const u64 end = early.anchor + early.region_len;
            if (early.verdict == DJPROBE_VERDICT_JUMP && early.tactic == DJPROBE_TACTIC_WINDOW &&
                end > late.anchor && end <= slide)
                return true;
        }
    }
    return false;
}

TEST(Overlap, WhoWaitsForAJumpToGoGetsItsOwn) {
    size_t seen = 0;
    for (u64 seed = 0; seed < 32; ++seed) {
        Session session(seed);
        u64 window = 0, slide = 0;
        if (!find_overlap(session, window, slide)) continue;
        session.attach_one({.address = slide, .program = 0});
        Probe* waiting = session.attach_one({.address = window, .program = 0});
        session.settle();
        // Another slide than the one found may have given way already.
        const bool waits = session.query(*waiting).reason == DJPROBE_REASON_OVERLAP;
        session.attach_one({.address = slide, .int3_only = true, .program = 0});
        session.settle();
        // The session itself knows who may still be held.
        seen += waits && state_of(session, *waiting) == DJPROBE_STATE_OPTIMIZED;
        session.finish();
    }
    EXPECT_GT(seen, 3u);
}

TEST(Overlap, APlanIsMadeOfOriginalBytesWhateverStateANeighbourIsIn) {
    // Kernel commit 868a6fc0ca24: the jump of a neighbour that was queued, but still in the text,
    // was taken for its original bytes.
    const Found found = find_image(false, DJPROBE_TACTIC_WINDOW, 1);
    Session session(found.seed);
    const djp_verdict alone = session.explain(found.inside[0]);
    const auto expect_same = [&](const char* when) {
        const djp_verdict now = session.explain(found.inside[0]);
        EXPECT_EQ(now.verdict, alone.verdict) << when;
        EXPECT_EQ(now.region_len, alone.region_len) << when;
        EXPECT_TRUE(std::ranges::equal(now.region, alone.region)) << when;
    };
    Probe* const probe = session.attach_one({.address = found.address});
    session.kernel.on_quiesce = [&](bool locked) {
        if (!locked) expect_same("in the quiescence");
    };
    expect_same("before the jump");
    session.settle();
    ASSERT_EQ(state_of(session, *probe), DJPROBE_STATE_OPTIMIZED);
    expect_same("with the jump");
    session.set_optimization(false);
    expect_same("without the jump");
    session.set_optimization(true);
    expect_same("wanted again");
    session.settle();
    session.detach({probe});
    expect_same("detached");
    session.settle();
    expect_same("freed");
    session.finish();
}

TEST(Overlap, TwoProbesAtASlidesAnchorShareASite) {
    int seen = 0;
    for_each_jump(DJPROBE_TACTIC_SLIDE, false, [&](u64 seed, u64 site, djp_verdict verdict) {
        Session session(seed);
        session.attach_one({.address = site});
        session.settle();
        const auto both =
            session.attach({{.address = verdict.anchor}, {.address = verdict.anchor}});
        if (both.reason == 0) ++seen;
        session.settle();
        session.finish();
        return seen == 3;
    });
    EXPECT_EQ(seen, 3);
}

TEST(Overlap, ABatchThatIsUndoneGivesJumpsBack) {
    const Found found = find_image(false, DJPROBE_TACTIC_WINDOW, 1);
    Session session(found.seed);
    Probe* probe = session.attach_one({.address = found.address, .program = 0});
    session.settle();
    const u64 nowhere = session.kernel.image.core().begin - 4096;
    const std::vector<Wish> wishes = {{.address = found.address, .program = 0},
                                      {.address = found.inside[0], .program = 0}};
    // Forbidden places are found first: only one that turns out late shows what is undone.
    for (int n = 0; n < 64; ++n) {
        session.kernel.fail_after = n;
        const Session::Answer answer = session.attach(wishes);
        session.kernel.fail_after = -1;
        session.settle();
        EXPECT_EQ(state_of(session, *probe),
                  answer.reason ? DJPROBE_STATE_OPTIMIZED : DJPROBE_STATE_ARMED);
        if (!answer.reason) session.detach(answer.probes);
        session.settle();
    }
    const Session::Answer answer =
        session.attach({{.address = found.address}, {.address = nowhere}});
    EXPECT_EQ(answer.index, 1u);
    EXPECT_EQ(answer.reason, static_cast<unsigned>(DJPROBE_REASON_NOT_TEXT));
    session.finish();
}

}  // namespace
}  // namespace djprobe::model
