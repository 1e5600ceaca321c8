// SPDX-License-Identifier: GPL-2.0
// Allocations that fail: all is undone, and nothing of it comes later.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "sites.h"

namespace djprobe::model {
namespace {

/// What may fail for want of memory.
enum class Victim { Attach, Join, Batch, Enable, Detach, Disable, SetEnabled };

/// Let the n-th allocation of it fail (or all from it on). Returns false when there are fewer.
bool fail_once(const Found& found, Victim victim, int n, bool keep_failing) {
    Session session(found.seed);
    // The index is built, and another site shares the slots.
    Probe* const other = session.attach_one({.address = found.address, .program = 0});
    std::vector<Wish> wishes = {{.address = found.inside[0], .program = 1},
                                {.address = found.address, .program = 2},
                                {.address = found.inside[1], .wants = DJK_WANTS_REDIRECT}};
    Group group;
    if (victim != Victim::Attach && victim != Victim::Join && victim != Victim::Batch)
        group = session.attach(wishes).probes;
    if (victim == Victim::Enable) session.disable(group);
    session.settle();
    const size_t before = session.kernel.watch.count_allocations().first;
    const size_t handlers = session.kernel.handlers;
    const unsigned int state = state_of(session, *other);
    session.kernel.fail_after = n;
    session.kernel.keep_failing = keep_failing;
    unsigned int reason = 0;
    switch (victim) {
        case Victim::Attach:
            reason = session.attach(std::vector<Wish>{wishes[0]}).reason;
            break;
        case Victim::Join:
            reason = session.attach(std::vector<Wish>{wishes[1]}).reason;
            break;
        case Victim::Batch:
            reason = session.attach(wishes).reason;
            break;
        case Victim::Enable:
            reason = session.enable(group).reason;
            break;
        case Victim::Detach:
            session.detach(group);
            break;
        case Victim::Disable:
            session.disable(group);
            break;
        case Victim::SetEnabled:
            session.set_enabled(false);
            break;
    }
    const bool failed = session.kernel.failed > 0;
    session.kernel.fail_after = -1;
    session.settle();
    if (reason) {
        // Without memory a site keeps code that does more than it must, until a probe there goes.
        session.detach({session.attach_one({.address = found.address, .program = 0})});
        session.settle();
        EXPECT_EQ(reason, static_cast<unsigned int>(DJPROBE_REASON_NO_MEMORY));
        // All undone: the other site has its jump again, nothing else is there.
        EXPECT_EQ(state_of(session, *other), state);
        EXPECT_EQ(session.kernel.handlers, handlers);
        EXPECT_EQ(session.kernel.watch.count_allocations().first, before);
    }
    session.set_enabled(true);
    session.finish();
    return failed;
}

class OutOfMemory : public testing::TestWithParam<Victim> {};

TEST_P(OutOfMemory, AtEveryAllocationAllIsUndone) {
    const Found found = find_image(false, DJPROBE_TACTIC_WINDOW, 2);
    for (const bool keep_failing : {false, true}) {
        int n = 0;
        while (fail_once(found, GetParam(), n, keep_failing))
            ++n;
        const bool allocates = GetParam() == Victim::Attach || GetParam() == Victim::Join ||
                               GetParam() == Victim::Batch || GetParam() == Victim::Enable;
        if (allocates) {
            EXPECT_GT(n, 3);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All, OutOfMemory,
                         testing::Values(Victim::Attach, Victim::Join, Victim::Batch,
                                         Victim::Enable, Victim::Detach, Victim::Disable,
                                         Victim::SetEnabled));

TEST(Memory, ABatchThatIsRefusedLeavesNoCodeToBeWrittenLater) {
    const auto [seed, site] = [] {
        std::pair<u64, u64> found{};
        for_each_jump(DJPROBE_TACTIC_WINDOW, false, [&](u64 seed, u64 site, const djp_verdict&) {
            found = {seed, site};
            return true;
        });
        return found;
    }();
    for (int n = 0;; ++n) {
        Session session(seed);
        session.kernel.fail_after = n;
        const auto answer =
            session.attach({{.address = site, .program = 0}, {.address = site, .program = 1}});
        session.kernel.fail_after = -1;
        session.settle();
        session.attach_one({.address = site});
        session.settle();
        session.finish();
        if (!session.kernel.failed) break;
    }
}

}  // namespace
}  // namespace djprobe::model
