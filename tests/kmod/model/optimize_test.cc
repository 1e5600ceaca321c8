// SPDX-License-Identifier: GPL-2.0
// Jumps that come and go: by the switch, by the worker, as the module leaves; and what they cost.
#include <gtest/gtest.h>

#include "sites.h"

namespace djprobe::model {
namespace {

TEST(Optimize, AnOptimizationIsCancelledAndWantedAgain) {
    // Kernel commit e4add247789e: cancelling took a site that waited for its jump for one that
    // waited for its end, and the reverse.
    const Found found = find_image(false, DJPROBE_TACTIC_WINDOW, 0);
    for (const bool optimized : {false, true}) {
        Session session(found.seed);
        Probe* const probe = session.attach_one({.address = found.address});
        if (optimized) session.settle();
        for (int i = 0; i < 3; ++i) {
            session.set_optimization(false);
            EXPECT_EQ(state_of(session, *probe), DJPROBE_STATE_ARMED);
            EXPECT_EQ(session.query(*probe).reason, DJPROBE_REASON_OPTIMIZATION_OFF);
            session.set_optimization(true);
            EXPECT_EQ(state_of(session, *probe), DJPROBE_STATE_OPTIMIZING);
        }
        // While the worker waits: it must not write what is not wanted any more.
        session.kernel.on_quiesce = [&](bool locked) {
            if (!locked && session.is_optimizing()) session.set_optimization(false);
        };
        session.settle();
        EXPECT_EQ(state_of(session, *probe), DJPROBE_STATE_ARMED);
        session.kernel.on_quiesce = {};
        session.set_optimization(true);
        session.settle();
        EXPECT_EQ(state_of(session, *probe), DJPROBE_STATE_OPTIMIZED);
        session.finish();
    }
}

TEST(Optimize, JumpsThatCouldNotGoWhenSwitchedOffGoLater) {
    const Found found = find_image(false, DJPROBE_TACTIC_WINDOW, 0);
    Session session(found.seed);
    Probe* probe = session.attach_one({.address = found.address});
    session.settle();
    ASSERT_TRUE(session.kernel.kprobes.add(found.address, true));
    session.set_optimization(false);
    EXPECT_EQ(state_of(session, *probe), DJPROBE_STATE_OPTIMIZED);
    ASSERT_TRUE(session.kernel.kprobes.remove(found.address));
    session.settle();
    EXPECT_EQ(state_of(session, *probe), DJPROBE_STATE_ARMED);
    EXPECT_EQ(session.query(*probe).reason, DJPROBE_REASON_OPTIMIZATION_OFF);
    session.finish();
}

TEST(Optimize, ASlidesAnchorIsBackInTheTableOnlyWhenNoHitCanStandOnItsLink) {
    for_each_jump(DJPROBE_TACTIC_SLIDE, false, [&](u64 seed, u64 site, const djp_verdict&) {
        Session session(seed);
        session.attach_one({.address = site});
        session.settle();
        // No other patcher synchronizes the cores meanwhile.
        Probe* const int3 = session.attach_one({.address = site, .int3_only = true});
        session.detach({int3});
        session.settle();
        session.finish();
        return true;
    });
}

// Each interrupts all CPUs of a machine in production.
TEST(Optimize, OneSiteCostsNoMoreCoreSyncsThanItsBytesNeed) {
    size_t tried = 0;
    for_each_jump(DJPROBE_TACTIC_WINDOW, false, [&](u64 seed, u64 site, const djp_verdict&) {
        Session session(seed);
        const auto syncs_since = [&](size_t before) { return session.kernel.syncs - before; };
        Probe* probe = session.attach_one({.address = site});
        EXPECT_NE(probe, nullptr);
        if (!probe) return true;
        EXPECT_EQ(session.kernel.syncs, 2u) << "slots, int3";
        session.settle();
        EXPECT_EQ(state_of(session, *probe), DJPROBE_STATE_OPTIMIZED);
        EXPECT_EQ(syncs_since(2), 2u) << "the jump's tail, its first byte";
        session.detach({probe});
        EXPECT_EQ(syncs_since(4), 3u) << "int3, the tail, the first byte";
        session.finish();
        return ++tried == 3;
    });
    EXPECT_EQ(tried, 3u);
}

TEST(Optimize, OurModuleMayGoRightAfterTheLastDetach) {
    for (const unsigned int tactic :
         {DJPROBE_TACTIC_WINDOW, DJPROBE_TACTIC_SLIDE, DJPROBE_TACTIC_SPRINGBOARD})
        for_each_jump(tactic, false, [&](u64 seed, u64 site, const djp_verdict&) {
            Session session(seed);
            Probe* probe = session.attach_one({.address = site, .program = 0});
            session.settle();
            EXPECT_EQ(state_of(session, *probe), DJPROBE_STATE_OPTIMIZED);
            session.detach({probe});
            // No settle(): what is left is djp_stop()'s.
            return true;
        });
}

}  // namespace
}  // namespace djprobe::model
