// SPDX-License-Identifier: GPL-2.0
// One site: counts, several probes, the ways to name it.
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "../harness/fixture.h"
#include "../harness/holder.h"

namespace djprobe::vm {
namespace {

class Attach : public ProbeTest {};

TEST_F(Attach, EveryCallIsAHitWithOneToFourThreads) {
    constexpr uint64_t kCalls = 5000;
    for (const djprobe_mode mode : kBothModes)
        for (unsigned threads = 1; threads <= 4; ++threads) {
            const Probe probe = device_.must_attach(at(kGetpgid, 0, mode));
            expect_mechanism(probe, mode);
            const uint64_t before = counted();
            EXPECT_EQ(call_getpgid(kCalls, threads), 0u);
            const djprobe_query query = probe.query();
            EXPECT_EQ(query.hits, kCalls * threads) << "mode " << mode;
            EXPECT_EQ(missed(query), 0u) << "mode " << mode;
            EXPECT_EQ(counted() - before, kCalls * threads) << "mode " << mode;
        }
}

TEST_F(Attach, EveryCallIsAHitWhileTheJumpIsBeingWritten) {
    const Probe probe = device_.must_attach(at(kGetpgid));
    Load load(2);
    for (int round = 0; round < 5; ++round) {
        expect_mechanism(probe, DJPROBE_MODE_AUTO);
        const Probe int3 = device_.must_attach(at(kGetpgid, 0, DJPROBE_MODE_INT3));
        expect_mechanism(probe, DJPROBE_MODE_INT3);
    }
    load.stop();
    EXPECT_EQ(load.wrong(), 0u);
    EXPECT_GT(load.calls(), 0u);
    const djprobe_query query = probe.query();
    EXPECT_EQ(query.hits + missed(query), load.calls());
}

TEST_F(Attach, IsExactAfterItsJumpWasWrittenUnderLoad) {
    Load load(2);
    for (int round = 0; round < 5; ++round) {
        const Probe probe = device_.must_attach(at(kGetpgid));
        expect_mechanism(probe, DJPROBE_MODE_AUTO);
    }
    const Probe probe = device_.must_attach(at(kGetpgid));
    load.stop();
    EXPECT_EQ(load.wrong(), 0u);
    // From here on all is known: still or again optimizing, and exact.
    const uint64_t before = probe.hits();
    EXPECT_EQ(call_getpgid(1000), 0u);
    EXPECT_EQ(probe.hits() - before, 1000u);
    expect_mechanism(probe, DJPROBE_MODE_AUTO);
    EXPECT_EQ(call_getpgid(1000), 0u);
    EXPECT_EQ(probe.hits() - before, 2000u);
}

TEST_F(Attach, ProbesOfThreeProcessesOnOneSiteLeaveInEveryOrder) {
    for (const djprobe_mode mode : kBothModes) {
        std::array<int, 3> order = {0, 1, 2};
        do {
            std::vector<Holder> holders;
            holders.reserve(3);
            for (int i = 0; i < 3; ++i)
                holders.emplace_back(at(kGetpgid, 0, mode));
            uint64_t expected = 0;
            for (const int leaving : order) {
                EXPECT_EQ(call_getpgid(300), 0u);
                expected += 300;
                EXPECT_EQ(holders[static_cast<size_t>(leaving)].hits(), expected);
                holders[static_cast<size_t>(leaving)].end();
            }
            // And the last one's detach was complete.
            EXPECT_EQ(call_getpgid(10), 0u);
        } while (std::ranges::next_permutation(order).found);
    }
}

TEST_F(Attach, AProbeThatJoinsDoesNotDisturbTheOthers) {
    const Probe first = device_.must_attach(at(kGetpgid));
    expect_mechanism(first, DJPROBE_MODE_AUTO);
    EXPECT_EQ(call_getpgid(100), 0u);
    Probe second = device_.must_attach(at(kGetpgid));
    EXPECT_EQ(second.settle().mechanism, static_cast<uint32_t>(DJPROBE_MECHANISM_JUMP));
    EXPECT_EQ(call_getpgid(100), 0u);
    second.detach();
    EXPECT_EQ(call_getpgid(100), 0u);
    EXPECT_EQ(first.hits(), 300u);
}

// Who asks for int3 means to see int3: all probes of the site follow.
TEST_F(Attach, AnInt3ProbeTakesTheJumpBack) {
    const Probe first = device_.must_attach(at(kGetpgid));
    expect_mechanism(first, DJPROBE_MODE_AUTO);
    const Probe second = device_.must_attach(at(kGetpgid, 0, DJPROBE_MODE_INT3));
    for (const Probe* probe : {&first, &second}) {
        const djprobe_query query = probe->settle();
        EXPECT_EQ(query.mechanism, static_cast<uint32_t>(DJPROBE_MECHANISM_INT3));
        EXPECT_EQ(query.reason, static_cast<uint32_t>(DJPROBE_REASON_MODE_INT3));
    }
    EXPECT_EQ(call_getpgid(100), 0u);
    EXPECT_EQ(first.hits(), 100u);
    EXPECT_EQ(second.hits(), 100u);
}

// Kernel commit cc66bb914578: with an endbr the entry was no longer at the symbol.
TEST_F(Attach, TheEntryHasOneSiteUnderAllItsNames) {
    const uint64_t start = address_of(kGetpgid);
    ASSERT_NE(start, 0u);
    const Probe by_name = device_.must_attach(at(kGetpgid));
    const djprobe_query entry = by_name.query();
    // Behind the ftrace call: Debian's kernels have one in every function that can be traced.
    EXPECT_GE(entry.address, start + 5);
    EXPECT_LE(entry.address, start + 9);
    EXPECT_EQ(entry.offset, entry.address - start);
    EXPECT_STREQ(entry.symbol, kGetpgid);
    EXPECT_STREQ(entry.module, "");
    const Probe by_offset = device_.must_attach(at(kGetpgid, entry.offset));
    const Probe by_start = device_.must_attach(at_address(start));
    const Probe by_address = device_.must_attach(at_address(entry.address));
    EXPECT_EQ(call_getpgid(50), 0u);
    for (const Probe* probe : {&by_name, &by_offset, &by_start, &by_address}) {
        EXPECT_EQ(probe->query().address, entry.address);
        EXPECT_EQ(probe->hits(), 50u);
    }
}

TEST_F(Attach, TheQueryShowsTheOriginalBytes) {
    for (const djprobe_mode mode : kBothModes) {
        const Probe probe = device_.must_attach(at("vfs_read", 0, mode));
        const djprobe_query query = probe.settle();
        ASSERT_GE(query.displaced_len, mode == DJPROBE_MODE_AUTO ? 5u : 1u);
        ASSERT_LE(query.displaced_len, sizeof query.displaced);
        EXPECT_NE(query.displaced[0], 0xcc);
        EXPECT_NE(query.displaced[0], 0xe9);
        for (uint32_t i = query.displaced_len; i < sizeof query.displaced; ++i)
            EXPECT_EQ(query.displaced[i], 0) << i;
    }
}

}  // namespace
}  // namespace djprobe::vm
