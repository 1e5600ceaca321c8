// SPDX-License-Identifier: GPL-2.0
// Probes that count, alone at their site and beside others.
#include <gtest/gtest.h>

#include "sites.h"

namespace djprobe::model {
namespace {

constexpr int kCounter = Kernel::kCounter;

class Counting : public testing::Test {
  protected:
    Found found_ = find_image(false, DJPROBE_TACTIC_WINDOW, 0);
    Session session_{found_.seed};

    Probe* attach(int program, unsigned int wants = 0) {
        return session_.attach_one({.address = found_.address, .program = program, .wants = wants});
    }
    void expect_jump(const Probe& probe) {
        session_.settle();
        EXPECT_EQ(state_of(session_, probe), unsigned{DJPROBE_STATE_OPTIMIZED});
    }
};

TEST_F(Counting, TheDetourOfACounterCallsNothing) {
    Probe* const probe = attach(kCounter);
    ASSERT_TRUE(probe);
    expect_jump(*probe);
    const Reached& reached = session_.kernel.watch.look();
    EXPECT_EQ(reached.at(found_.address), std::vector<const Handler*>{probe->handler});
    EXPECT_TRUE(session_.query(*probe).counts);
    session_.finish();
}

TEST_F(Counting, EachOfSeveralCountersCounts) {
    Probe* const first = attach(kCounter);
    Probe* const second = attach(kCounter);
    ASSERT_TRUE(first && second);
    expect_jump(*first);
    EXPECT_EQ(session_.kernel.watch.look().at(found_.address).size(), 2u);
    session_.detach({first});
    expect_jump(*second);
    EXPECT_EQ(session_.kernel.watch.look().at(found_.address),
              std::vector<const Handler*>{second->handler});
    session_.finish();
}

TEST_F(Counting, CountersComeBeforeWhatMayLeadElsewhere) {
    ASSERT_TRUE(attach(Kernel::kCFunction, DJK_WANTS_REDIRECT));
    Probe* const first = attach(kCounter);
    ASSERT_TRUE(attach(0));
    Probe* const second = attach(kCounter);
    ASSERT_TRUE(first && second);
    expect_jump(*second);
    const std::vector<const Handler*> run = session_.kernel.watch.look().at(found_.address);
    ASSERT_EQ(run.size(), 4u);
    EXPECT_EQ(run[0], first->handler);
    EXPECT_EQ(run[1], second->handler);
    EXPECT_TRUE(run[2]->link.wants);
    session_.finish();
}

TEST_F(Counting, AProgramComesAndGoesBesideACounter) {
    Probe* const counter = attach(kCounter);
    ASSERT_TRUE(counter);
    for (int kind = 0; kind < Kernel::kPrograms; ++kind) {
        expect_jump(*counter);
        Probe* const program = attach(kind);
        ASSERT_TRUE(program);
        expect_jump(*program);
        session_.disable({counter});
        session_.enable({counter});
        expect_jump(*counter);
        session_.detach({program});
    }
    session_.finish();
}

TEST_F(Counting, AProbeThatCountsOnceLeavesAfterItsFirstHit) {
    Probe* const other = attach(kCounter);
    EXPECT_FALSE(session_.kernel.watches_once);
    Probe* const once =
        session_.attach_one({.address = found_.address, .program = kCounter, .once = true});
    ASSERT_TRUE(other && once);
    EXPECT_TRUE(session_.kernel.watches_once);
    EXPECT_TRUE(session_.query(*once).once);
    EXPECT_FALSE(session_.query(*other).once);
    expect_jump(*once);
    once->handler->hits = once->hits = 0;
    EXPECT_TRUE(session_.end_once({})) << "it has to be looked for again";
    expect_jump(*once);
    EXPECT_FALSE(session_.end_once({once}));
    expect_jump(*other);
    EXPECT_EQ(session_.query(*once).reason, unsigned{DJPROBE_REASON_DISABLED});
    session_.set_enabled(false);
    session_.set_enabled(true);
    EXPECT_EQ(session_.query(*once).reason, unsigned{DJPROBE_REASON_DISABLED});
    session_.kernel.watches_once = false;
    session_.enable({once});
    EXPECT_TRUE(session_.kernel.watches_once) << "again";
    EXPECT_FALSE(session_.end_once({once}));
    EXPECT_EQ(session_.query(*once).state, unsigned{DJPROBE_STATE_DISARMED});
    session_.finish();
}

TEST_F(Counting, ACounterTakesPartInAKprobeOfTheKernel) {
    ASSERT_TRUE(session_.kernel.kprobes.add(found_.address, true));
    session_.kernel.kprobes.arm(found_.address);
    session_.disturbed(found_.address);
    Probe* const probe = attach(kCounter);
    ASSERT_TRUE(probe);
    EXPECT_EQ(session_.query(*probe).reason, unsigned{DJPROBE_REASON_SHARED_KPROBE});
    session_.finish();
}

}  // namespace
}  // namespace djprobe::model
