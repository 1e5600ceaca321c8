// SPDX-License-Identifier: GPL-2.0
// Requests that give the registry lock away between two portions.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "sites.h"

namespace djprobe::model {
namespace {

/// A jump, the two sites behind it that it covers, and another probe that is there already.
struct Batch {
    explicit Batch(const Found& found) : session(found.seed) {
        session.kernel.portion = 1;
        other = session.attach_one({.address = found.inside[0], .program = 0});
        session.settle();
        wishes = {{.address = found.inside[1], .program = 1},
                  {.address = found.address, .program = 2},
                  {.address = found.inside[0], .wants = DJK_WANTS_REDIRECT}};
    }
    Session session;
    Probe* other = nullptr;
    std::vector<Wish> wishes;
};

TEST(Portions, ACallerThatIsKilledBetweenTwoOfThemLeavesNothing) {
    const Found found = find_image(false, DJPROBE_TACTIC_WINDOW, 2);
    int refused = 0;
    for (int looks = 1;; ++looks) {
        Batch batch(found);
        const unsigned int state = state_of(batch.session, *batch.other);
        const size_t handlers = batch.session.kernel.handlers;
        batch.session.kernel.dies_after = looks;
        const auto answer = batch.session.attach(batch.wishes);
        batch.session.kernel.dies_after = -1;
        batch.session.settle();
        if (answer.reason) {
            ++refused;
            EXPECT_EQ(answer.reason, static_cast<unsigned>(DJPROBE_REASON_INTERRUPTED));
            EXPECT_EQ(state_of(batch.session, *batch.other), state);
            EXPECT_EQ(batch.session.kernel.handlers, handlers);
        }
        batch.session.finish();
        if (!answer.reason) break;
    }
    // A look for each request, for each probe, and two for each portion of one.
    EXPECT_EQ(refused, 12);
}

TEST(Portions, OthersMayAttachDetachAndSwitchBetweenAnyTwoOfThem) {
    const Found found = find_image(false, DJPROBE_TACTIC_WINDOW, 2);
    for (int what = 0; what < 5; ++what) {
        size_t pauses = 0;
        for (size_t at = 0; at <= pauses; ++at) {
            Batch batch(found);
            Session& session = batch.session;
            size_t seen = 0;
            session.kernel.on_pause = [&] {
                if (seen++ != at) return;
                if (what == 0) session.attach_one({.address = found.address, .int3_only = true});
                if (what == 1) session.detach({batch.other});
                if (what == 2) session.set_enabled(false);
                if (what == 3) session.set_optimization(false);
                if (what == 4) session.run_optimizer();
            };
            const auto answer = session.attach(batch.wishes);
            EXPECT_EQ(answer.reason, 0u) << what << ", pause " << at;
            pauses = seen;
            session.kernel.on_pause = nullptr;
            session.set_enabled(true);
            session.set_optimization(true);
            session.settle();
            session.finish();
        }
        EXPECT_GE(pauses, 5u);
    }
}

TEST(Portions, AnotherModuleThatGoesBetweenTwoOfThemTakesNothingAlong) {
    const Found found = find_image(true, DJPROBE_TACTIC_WINDOW, 1);
    const djk_extent elsewhere = {1, 2};
    size_t pauses = 0;
    for (size_t at = 0; at <= pauses; ++at) {
        Session session(found.seed);
        session.kernel.portion = 1;
        size_t seen = 0;
        session.kernel.on_pause = [&] {
            if (seen++ == at) djp_module_gone(&elsewhere);
        };
        const auto answer =
            session.attach({{.address = found.address}, {.address = found.inside[0]}});
        session.kernel.on_pause = nullptr;
        pauses = seen;
        EXPECT_EQ(answer.reason, 0u) << "pause " << at;
        session.disable(answer.probes);
        EXPECT_EQ(session.enable(answer.probes).reason, 0u) << "pause " << at;
        session.set_enabled(false);
        session.set_enabled(true);
        for (const Probe* probe : answer.probes)
            EXPECT_NE(state_of(session, *probe), DJPROBE_STATE_GONE) << "pause " << at;
        session.settle();
        session.finish();
    }
    EXPECT_GE(pauses, 3u);
}

TEST(Portions, AModuleThatGoesBetweenTwoOfThemTakesItsSitesAlong) {
    const Found found = find_image(true, DJPROBE_TACTIC_WINDOW, 2);
    size_t pauses = 0;
    bool refused = false, attached = false;
    for (size_t at = 0; at <= pauses; ++at) {
        Batch batch(found);
        Session& session = batch.session;
        size_t seen = 0;
        session.kernel.on_pause = [&] {
            if (seen++ != at || session.kernel.module != ModuleState::Live) return;
            session.kernel.module_goes();
            session.module_leaves();
        };
        const auto answer = session.attach(batch.wishes);
        if (seen > pauses) pauses = seen;
        session.kernel.on_pause = nullptr;
        refused |= answer.reason != 0;
        attached |= answer.reason == 0;
        session.settle();
        session.finish();
    }
    EXPECT_TRUE(refused) << "before its handlers are there";
    EXPECT_TRUE(attached) << "when nothing is undone any more";
}

TEST(Portions, ASlideIsReachedByItsAnchorWhileAGroupIsAboutToArmASiteThere) {
    int seen = 0;
    for_each_jump(DJPROBE_TACTIC_SLIDE, false, [&](u64 seed, u64 site, djp_verdict verdict) {
        size_t pauses = 0;
        for (size_t at = 0; at <= pauses; ++at) {
            Session session(seed);
            session.kernel.portion = 1;
            Probe* slide = session.attach_one({.address = site});
            if (!slide) return false;
            size_t now = 0;
            session.kernel.on_pause = [&] {
                if (now++ == at) session.run_optimizer();
            };
            // The first joins in one portion, and is armed in a later one.
            session.attach(std::vector<Wish>{{.address = verdict.anchor}, {.address = site}});
            pauses = now;
            session.kernel.on_pause = nullptr;
            session.settle();
            session.finish();
        }
        EXPECT_GT(pauses, 0u);
        return ++seen == 3;
    });
    EXPECT_EQ(seen, 3);
}

/// Attach and enable one more probe than there is memory for when all come back, then enable it in
/// a group that is killed; all are disabled and enabled again at its pause number `at`. Returns how
/// many pauses there were.
size_t switch_within_group(const Found& found, size_t at, bool& refused) {
    Session session(found.seed);
    session.kernel.portion = 1;
    Probe* const lost = session.attach_one({.address = found.address});
    Probe* const other = session.attach_one({.address = found.inside[1]});
    session.settle();
    session.set_enabled(false);
    session.kernel.fail_after = 0;
    session.kernel.keep_failing = true;
    session.set_enabled(true);
    session.kernel.fail_after = -1;
    session.kernel.keep_failing = false;
    EXPECT_TRUE(lost->refused && other->refused);
    size_t pauses = 0;
    session.kernel.on_pause = [&] {
        if (pauses++ != at) return;
        session.set_enabled(false);
        session.set_enabled(true);
        session.kernel.dies_after = 0;
    };
    refused |= session.enable({lost, other}).reason == DJPROBE_REASON_INTERRUPTED;
    session.kernel.on_pause = nullptr;
    session.kernel.dies_after = -1;
    session.settle();
    session.finish();
    return pauses;
}

TEST(Portions, AGroupThatIsRefusedGivesBackWhatASwitchLeftToIt) {
    const Found found = find_image(false, DJPROBE_TACTIC_WINDOW, 2);
    size_t pauses = 1;
    bool refused = false;
    for (size_t at = 0; at < pauses; ++at)
        pauses = std::max(pauses, switch_within_group(found, at, refused));
    EXPECT_TRUE(refused);
}

}  // namespace
}  // namespace djprobe::model
