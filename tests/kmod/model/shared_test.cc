// SPDX-License-Identifier: GPL-2.0
// Detours that do the work of several handlers themselves, and handlers that leave them.
#include <gtest/gtest.h>

#include "sites.h"

namespace djprobe::model {
namespace {

constexpr int kCounter = Kernel::kCounter;
/// A program that a detour may call itself.
constexpr int kProgram = 0;

class Shared : public testing::Test {
  protected:
    Found found_ = find_image(false, DJPROBE_TACTIC_WINDOW, 0);
    Session session_{found_.seed};
    Kernel& kernel_ = session_.kernel;

    Probe* attach(int program) {
        return session_.attach_one({.address = found_.address, .program = program});
    }
    const std::vector<const Handler*>& reached() { return kernel_.watch.look().at(found_.address); }
    bool is_held() {
        kernel_.watch.look();
        return kernel_.watch.is_held(found_.address);
    }
    bool is_bypassed() {
        kernel_.watch.look();
        return kernel_.watch.is_bypassed(found_.address);
    }
    void expect_held(const std::vector<Probe*>& probes) {
        session_.settle();
        EXPECT_TRUE(is_held());
        std::vector<const Handler*> handlers;
        for (const Probe* probe : probes)
            handlers.push_back(probe->handler);
        EXPECT_EQ(reached(), handlers);
    }
};

TEST_F(Shared, TheDetourCountsAndCallsTheProgram) {
    Probe* const program = attach(kProgram);
    expect_held({program});
    Probe* const counter = attach(kCounter);
    expect_held({counter, program});
    Probe* const another = attach(kCounter);
    expect_held({counter, another, program});
    // Of more it does not.
    Probe* const fourth = attach(kCounter);
    session_.settle();
    EXPECT_FALSE(is_held());
    session_.detach({another});
    expect_held({counter, fourth, program});
    session_.detach({program});
    expect_held({counter, fourth});
    session_.detach({counter});
    expect_held({fourth});
    session_.finish();
}

TEST_F(Shared, TwoProgramsAreCalledFromTheList) {
    attach(kCounter);
    Probe* const first = attach(kProgram);
    ASSERT_TRUE(attach(kProgram));
    session_.settle();
    EXPECT_FALSE(is_held());
    session_.detach({first});
    session_.settle();
    EXPECT_TRUE(is_held());
    session_.finish();
}

/// Whichever leaves, and as long as memory is short, hits run those that stay.
TEST_F(Shared, WithoutMemoryAnInt3LeadsToTheList) {
    for (const bool counter_leaves : {true, false}) {
        Probe* const counter = attach(kCounter);
        Probe* const program = attach(kProgram);
        expect_held({counter, program});
        kernel_.fail_after = 0;
        kernel_.keep_failing = true;
        Probe* const stays = counter_leaves ? program : counter;
        session_.detach({counter_leaves ? counter : program});
        EXPECT_TRUE(is_bypassed());
        EXPECT_EQ(reached(), std::vector<const Handler*>{stays->handler});
        EXPECT_EQ(state_of(session_, *stays), unsigned{DJPROBE_STATE_OPTIMIZED});
        // The worker tries again, in vain, and rests in between.
        for (int i = 0; i < 3; ++i) {
            session_.run_optimizer();
            EXPECT_TRUE(is_bypassed());
            EXPECT_TRUE(kernel_.kicked_later);
        }
        kernel_.fail_after = -1;
        expect_held({stays});
        EXPECT_FALSE(is_bypassed());
        session_.detach({stays});
        session_.settle();
    }
    session_.finish();
}

/// Without memory the list serves the one that is linked, until the optimizer finds some. (What was
/// not learned of a program for want of memory stays unknown.)
TEST_F(Shared, WhatIsLinkedWithoutMemoryIsHeldLater) {
    size_t later = 0;
    bool failed = true;
    for (int n = 0; failed; ++n) {
        Probe* const counter = attach(kCounter);
        expect_held({counter});
        const int before = kernel_.failed;
        kernel_.fail_after = n;
        kernel_.keep_failing = true;
        Probe* const program = attach(kProgram);
        kernel_.fail_after = -1;
        failed = kernel_.failed > before;
        const bool held = is_held();
        session_.settle();
        later += program && !held && failed && is_held();
        session_.detach(program ? Group{program, counter} : Group{counter});
        session_.settle();
    }
    EXPECT_GT(later, 0u);
    session_.finish();
}

/// A task that was preempted right before that int3 finds its trap until the code is freed.
TEST_F(Shared, TheTrapLastsAsLongAsItsCode) {
    Probe* const counter = attach(kCounter);
    Probe* const program = attach(kProgram);
    expect_held({counter, program});
    kernel_.fail_after = 0;
    kernel_.keep_failing = true;
    session_.detach({counter});
    kernel_.fail_after = -1;
    const auto find_bypass = [] {
        for (const djk_trap* trap : djp_traps)
            for (; trap; trap = trap->next)
                if (trap->site && trap->site->trap.address != trap->address) return true;
        return false;
    };
    ASSERT_TRUE(find_bypass());
    std::vector<bool> found;
    kernel_.on_quiesce = [&](bool) { found.push_back(find_bypass()); };
    session_.settle();
    kernel_.on_quiesce = {};
    ASSERT_FALSE(found.empty());
    EXPECT_TRUE(found.front());
    EXPECT_FALSE(find_bypass());
    expect_held({program});
    session_.finish();
}

TEST_F(Shared, UnderAKprobeAnInt3LeadsToTheList) {
    Probe* const counter = attach(kCounter);
    Probe* const program = attach(kProgram);
    expect_held({counter, program});
    ASSERT_TRUE(kernel_.kprobes.add(found_.address, true));
    session_.disturbed(found_.address);
    session_.detach({counter});
    EXPECT_TRUE(is_bypassed());
    EXPECT_EQ(reached(), std::vector<const Handler*>{program->handler});
    session_.run_optimizer();
    EXPECT_TRUE(is_bypassed());
    ASSERT_TRUE(kernel_.kprobes.remove(found_.address));
    expect_held({program});
    session_.finish();
}

}  // namespace
}  // namespace djprobe::model
