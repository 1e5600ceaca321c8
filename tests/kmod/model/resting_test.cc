// SPDX-License-Identifier: GPL-2.0
// Sites that only count come to rest, and wake up for all that comes to them.
#include <gtest/gtest.h>

#include "sites.h"

namespace djprobe::model {
namespace {

/// A counter's jump over several instructions.
class Resting : public testing::Test {
  protected:
    Found found_ = find_image(false, DJPROBE_TACTIC_WINDOW, 1);
    Session session_{found_.seed};
    Kernel& kernel_ = session_.kernel;
    Probe* counter_ = attach(found_.address);

    Probe* attach(u64 address, int program = Kernel::kCounter) {
        return session_.attach_one({.address = address, .program = program});
    }
    /// No table knows a site at rest.
    bool rests() {
        return state_of(session_, *counter_) == unsigned{DJPROBE_STATE_OPTIMIZED} &&
               !djk_find_trap(found_.address);
    }
    void expect_rest() {
        session_.settle();
        EXPECT_TRUE(rests());
    }
    size_t objects() const { return kernel_.watch.count_allocations().first; }
};

TEST_F(Resting, TheSiteIsFreedAndTheAnswersStayTheSame) {
    const size_t with_site = objects();
    const djp_verdict planned = session_.explain(found_.address);
    EXPECT_FALSE(rests()) << "at int3";
    expect_rest();
    EXPECT_EQ(objects(), with_site - 1);
    const djp_status status = session_.query(*counter_);
    EXPECT_EQ(status.mechanism, unsigned{DJPROBE_MECHANISM_JUMP});
    EXPECT_EQ(status.reason, 0U);
    EXPECT_EQ(status.anchor, found_.address);
    ASSERT_EQ(status.displaced_len, planned.region_len);
    EXPECT_TRUE(std::equal(planned.region, planned.region + planned.region_len, status.displaced));
    const djp_verdict again = session_.explain(found_.address);
    EXPECT_TRUE(rests()) << "to ask about it changes nothing";
    EXPECT_EQ(again.verdict, planned.verdict);
    EXPECT_TRUE(std::equal(planned.region, planned.region + planned.region_len, again.region));
    session_.finish();
}

TEST(Rest, IsOnlyInTheTextOfTheCoreKernel) {
    const Found found = find_image(true, DJPROBE_TACTIC_WINDOW, 0);
    Session session(found.seed);
    Probe* const probe =
        session.attach_one({.address = found.address, .program = Kernel::kCounter});
    session.settle();
    EXPECT_EQ(state_of(session, *probe), unsigned{DJPROBE_STATE_OPTIMIZED});
    EXPECT_TRUE(djk_find_trap(found.address));
    session.module_leaves();
    session.finish();
}

TEST(Rest, AlsoWithAJumpBeforeTheSite) {
    const Found found = find_image(false, DJPROBE_TACTIC_SLIDE, 0);
    Session session(found.seed);
    const djp_verdict planned = session.explain(found.address);
    Probe* const probe =
        session.attach_one({.address = found.address, .program = Kernel::kCounter});
    for (int i = 0; i < 2; ++i) {
        session.settle();
        EXPECT_FALSE(djk_find_trap(found.address) || djk_find_trap(planned.anchor)) << "it rests";
        const djp_status status = session.query(*probe);
        EXPECT_EQ(status.state, unsigned{DJPROBE_STATE_OPTIMIZED});
        EXPECT_EQ(status.tactic, unsigned{DJPROBE_TACTIC_SLIDE});
        EXPECT_EQ(status.anchor, planned.anchor);
        EXPECT_EQ(session.explain(found.address).before, planned.before);
        // A hit at the anchor passes the site.
        EXPECT_EQ(session.kernel.watch.look().at(found.address).size(), 1U);
        session.set_optimization(false);
        EXPECT_EQ(state_of(session, *probe), unsigned{DJPROBE_STATE_ARMED});
        session.set_optimization(true);
    }
    session.finish();
}

TEST_F(Resting, WhatRunsSomethingStaysAwake) {
    Probe* const program = attach(found_.address, 0);
    session_.settle();
    EXPECT_FALSE(rests());
    session_.detach({counter_});
    session_.settle();
    EXPECT_EQ(state_of(session_, *program), unsigned{DJPROBE_STATE_OPTIMIZED});
    EXPECT_TRUE(djk_find_trap(found_.address));
    session_.finish();
}

TEST_F(Resting, AnotherMemberWakesItForGood) {
    expect_rest();
    Probe* const program = attach(found_.address, 0);
    ASSERT_TRUE(program);
    EXPECT_FALSE(rests());
    session_.settle();
    EXPECT_EQ(kernel_.watch.look().at(found_.address).size(), 2U);
    session_.detach({program});
    expect_rest();
    session_.finish();
}

/// Two count the same blocks, and the first one ends.
TEST_F(Resting, TheSecondOfTwoMembersRestsAlone) {
    expect_rest();
    Probe* const second = attach(found_.address);
    ASSERT_TRUE(second);
    session_.settle();
    session_.detach({counter_});
    counter_ = second;
    expect_rest();
    session_.finish();
}

TEST_F(Resting, AProbeWithinItsRegionWakesIt) {
    expect_rest();
    Probe* const within = attach(found_.inside[0]);
    ASSERT_TRUE(within);
    session_.settle();
    EXPECT_EQ(state_of(session_, *counter_), unsigned{DJPROBE_STATE_ARMED});
    EXPECT_EQ(session_.query(*counter_).reason, unsigned{DJPROBE_REASON_OVERLAP});
    session_.detach({within});
    expect_rest();
    session_.finish();
}

TEST_F(Resting, ItWakesAndRestsAgainWithEachSwitch) {
    for (int i = 0; i < 2; ++i) {
        expect_rest();
        session_.disable({counter_});
        EXPECT_EQ(state_of(session_, *counter_), unsigned{DJPROBE_STATE_DISARMED});
        session_.enable({counter_});
        expect_rest();
        session_.set_optimization(false);
        EXPECT_EQ(state_of(session_, *counter_), unsigned{DJPROBE_STATE_ARMED});
        session_.set_optimization(true);
        expect_rest();
        session_.set_enabled(false);
        EXPECT_EQ(state_of(session_, *counter_), unsigned{DJPROBE_STATE_DISARMED});
        session_.set_enabled(true);
    }
    session_.finish();
}

/// The optimizer comes between two portions of the request, and would let the site rest again.
TEST_F(Resting, NoJumpIsForgottenWhenJumpsAreSwitchedOff) {
    attach(found_.inside[0] + 64);
    expect_rest();
    kernel_.portion = 1;
    kernel_.on_pause = [&] { djp_optimizer_run(); };
    session_.set_optimization(false);
    kernel_.on_pause = {};
    EXPECT_EQ(state_of(session_, *counter_), unsigned{DJPROBE_STATE_ARMED});
    session_.finish();
}

/// At int3 each takes more memory.
TEST_F(Resting, WithoutMemoryJumpsStayOn) {
    expect_rest();
    kernel_.fail_after = 0;
    session_.set_optimization(false);
    EXPECT_EQ(kernel_.failed, 1);
    EXPECT_TRUE(session_.is_optimizing());
    expect_rest();
    kernel_.most_taken = 0;
    session_.set_optimization(false);
    EXPECT_TRUE(session_.is_optimizing());
    EXPECT_TRUE(rests()) << "nothing is tried";
    kernel_.most_taken = 1;
    session_.set_optimization(false);
    EXPECT_EQ(state_of(session_, *counter_), unsigned{DJPROBE_STATE_ARMED});
    session_.finish();
}

TEST_F(Resting, WithoutMemoryItLeavesAllTheSame) {
    expect_rest();
    kernel_.fail_after = 0;
    kernel_.keep_failing = true;
    session_.detach({counter_});
    kernel_.fail_after = -1;
    session_.settle();
    EXPECT_EQ(kernel_.watch.find_stray(), 0U);
    session_.finish();
}

/// Another patcher has written over the jump meanwhile.
TEST_F(Resting, AKprobeOnItsJumpKeepsTheModule) {
    for (const bool armed : {false, true}) {
        expect_rest();
        ASSERT_TRUE(kernel_.kprobes.add(found_.address, armed));
        session_.disturbed(found_.address);
        session_.detach({counter_});
        EXPECT_EQ(kernel_.kept, 1);
        ASSERT_TRUE(kernel_.kprobes.remove(found_.address));
        session_.settle();
        EXPECT_EQ(kernel_.kept, 0);
        counter_ = attach(found_.address);
    }
    session_.finish();
}

/// While a request enables two that could not come back, all are switched off and on: both come
/// back, and rest, before the request has come to the second one.
TEST(Rest, MayBeginWhileItsProbeIsEnabled) {
    std::vector<u64> places;
    u64 seed = 0;
    const auto use = [&](u64 its_seed, u64 site, const djp_verdict& verdict) {
        if (its_seed != seed) places.clear();
        seed = its_seed;
        const bool is_far = places.empty() || site > places.back() + 2 * x86::kMaxRegion;
        if (is_far && verdict.region_len <= 8) places.push_back(site);
        return places.size() == 2;
    };
    for_each_jump(DJPROBE_TACTIC_WINDOW, false, use);
    Session session(seed);
    Kernel& kernel = session.kernel;
    const std::vector<Wish> wishes = {{.address = places[0], .program = Kernel::kCounter},
                                      {.address = places[1], .program = Kernel::kCounter}};
    const auto rest = [&] {
        session.settle();
        return !djk_find_trap(places[0]) && !djk_find_trap(places[1]);
    };
    Group group = session.attach(wishes).probes;
    // A counter may also read registers, and stays awake then.
    for (int i = 0; i < 100 && !rest(); ++i) {
        session.detach(group);
        group = session.attach(wishes).probes;
    }
    ASSERT_TRUE(rest());
    session.set_enabled(false);
    kernel.fail_after = 0;
    kernel.keep_failing = true;
    session.set_enabled(true);
    kernel.fail_after = -1;
    ASSERT_EQ(state_of(session, *group[1]), unsigned{DJPROBE_STATE_DISARMED});
    kernel.portion = 1;
    bool came_back = false;
    kernel.on_pause = [&] {
        if (came_back) return;
        came_back = true;
        session.set_enabled(false);
        session.set_enabled(true);
        for (int i = 0; i < 3; ++i)
            session.run_optimizer();
    };
    EXPECT_EQ(session.enable(group).reason, 0U);
    EXPECT_TRUE(came_back);
    kernel.on_pause = {};
    EXPECT_TRUE(rest());
    session.finish();
}

/// Its code destroys what the handler of a kprobe reads, and cannot be replaced yet: the optimizer
/// tries again, and must still see the site.
TEST(Rest, WaitsForTheCodeThatReadersWant) {
    const Crowded found = find_crowded();
    Session session(found.seed);
    Kprobes& kprobes = session.kernel.kprobes;
    const auto comes = [&](u64 place, bool armed) {
        session.disturbed(place);
        ASSERT_TRUE(kprobes.add(place, armed));
        session.run_optimizer();
    };
    ASSERT_TRUE(session.attach_one({.address = found.site, .program = Kernel::kCounter}));
    session.settle();
    const u64 lean = code_of(session, found.site);
    comes(found.site, false);
    comes(found.behind[0], true);
    session.settle();
    EXPECT_EQ(code_of(session, found.site), lean);
    ASSERT_TRUE(kprobes.remove(found.site));
    session.settle();
    EXPECT_NE(code_of(session, found.site), lean);
    EXPECT_FALSE(djk_find_trap(found.site)) << "it rests";
    session.finish();
}

TEST_F(Resting, ProbesThatCountOnceLeave) {
    session_.detach({counter_});
    session_.settle();
    counter_ =
        session_.attach_one({.address = found_.address, .program = Kernel::kCounter, .once = true});
    expect_rest();
    EXPECT_FALSE(session_.end_once({counter_}));
    EXPECT_EQ(session_.query(*counter_).reason, unsigned{DJPROBE_REASON_DISABLED});
    session_.finish();
}

}  // namespace
}  // namespace djprobe::model
