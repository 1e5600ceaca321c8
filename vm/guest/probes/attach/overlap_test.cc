// SPDX-License-Identifier: GPL-2.0
// Sites within each other's regions: every one counts, a jump gives way as long as it must and
// comes back by itself (the recipe of kernel commit f1c97a1b4ef7, in all orders).
#include <algorithm>
#include <array>

#include "../harness/fixture.h"

namespace djprobe::vm {
namespace {

class Overlap : public ProbeTest {
  protected:
    static constexpr uint64_t kCalls = 50;

    /// Offsets of instructions in a row at the function's start. The first is shorter than a jump,
    /// which KASAN's are not.
    std::vector<uint64_t> neighbours(size_t count) {
        std::vector<uint64_t> offsets;
        for (const Probe& probe : attach_everywhere(device_, counter(), kGetpgid, count + 3))
            offsets.push_back(probe.query().offset);
        while (offsets.size() > count && offsets[1] - offsets[0] >= 5)
            offsets.erase(offsets.begin());
        EXPECT_GE(offsets.size(), count) << kGetpgid << " has too few instructions";
        offsets.resize(count);
        return offsets;
    }

    /// Every probe counts every call; then the sum over all.
    void expect_counts(const std::vector<const Probe*>& probes, const char* when) {
        std::vector<uint64_t> before;
        for (const Probe* probe : probes)
            before.push_back(probe->hits());
        EXPECT_EQ(call_getpgid(kCalls), 0u);
        for (size_t i = 0; i < probes.size(); ++i)
            EXPECT_EQ(probes[i]->hits() - before[i], kCalls) << when << ", probe " << i;
    }

    /// Two that overlap, again and again, their jumps written, on their way or neither.
    void come_and_go(const std::vector<uint64_t>& offsets) {
        for (int round = 0; round < 20; ++round) {
            const Probe first = device_.must_attach(at(kGetpgid, offsets[0]));
            if (round % 2) (void)first.settle();
            const Probe second = device_.must_attach(at(kGetpgid, offsets[1 + round % 2]));
            if (round % 3) (void)second.settle();
        }
    }
};

TEST_F(Overlap, AJumpGivesWayAndComesBack) {
    const std::vector<uint64_t> offsets = neighbours(2);
    const Probe first = device_.must_attach(at(kGetpgid, offsets[0]));
    expect_mechanism(first, DJPROBE_MODE_AUTO);
    ASSERT_LT(offsets[1] - offsets[0], first.query().displaced_len) << "they do not overlap";
    expect_counts({&first}, "alone");

    Probe second = device_.must_attach(at(kGetpgid, offsets[1]));
    const djprobe_query query = first.settle();
    EXPECT_EQ(query.mechanism, static_cast<uint32_t>(DJPROBE_MECHANISM_INT3));
    EXPECT_EQ(query.reason, static_cast<uint32_t>(DJPROBE_REASON_OVERLAP));
    EXPECT_EQ(query.detail[0], second.query().address);
    expect_counts({&first, &second}, "both");

    second.detach();
    expect_counts({&first}, "coming back");
    expect_mechanism(first, DJPROBE_MODE_AUTO);
    expect_counts({&first}, "back");
}

TEST_F(Overlap, ThreeSitesInEveryOrderOfComingAndGoing) {
    const std::vector<uint64_t> offsets = neighbours(3);
    std::array<size_t, 3> coming = {0, 1, 2};
    do {
        std::array<size_t, 3> going = {0, 1, 2};
        do {
            std::array<Probe, 3> probes;
            const auto live = [&] {
                std::vector<const Probe*> all;
                for (const Probe& probe : probes)
                    if (probe) all.push_back(&probe);
                return all;
            };
            for (const size_t i : coming) {
                probes[i] = device_.must_attach(at(kGetpgid, offsets[i]));
                // Sometimes in the middle of an optimization, sometimes after it.
                if (going[0] == 0) (void)probes[i].settle();
                expect_counts(live(), "coming");
            }
            for (const size_t i : going) {
                probes[i].detach();
                expect_counts(live(), "going");
            }
        } while (std::ranges::next_permutation(going).found);
    } while (std::ranges::next_permutation(coming).found);
}

TEST_F(Overlap, Int3WantedByOneOfTwoEndsWithIt) {
    const uint64_t offset = neighbours(1).front();
    const Probe first = device_.must_attach(at(kGetpgid, offset));
    expect_mechanism(first, DJPROBE_MODE_AUTO);
    const uint32_t region = first.query().displaced_len;
    Probe second = device_.must_attach(at(kGetpgid, offset, DJPROBE_MODE_INT3));
    EXPECT_EQ(first.settle().reason, static_cast<uint32_t>(DJPROBE_REASON_MODE_INT3));
    EXPECT_LT(first.query().displaced_len, region) << "an int3 displaces one instruction";
    expect_counts({&first, &second}, "int3");
    second.detach();
    expect_mechanism(first, DJPROBE_MODE_AUTO);
    expect_counts({&first}, "jump again");
}

TEST_F(Overlap, UnderLoadNoneIsLost) {
    const std::vector<uint64_t> offsets = neighbours(3);
    // Where the jump gives way, and where those who get there have all come by.
    const Probe here = device_.must_attach(at(kGetpgid, offsets[0]));
    const Probe behind = device_.must_attach(at("do_getpgid"));
    Load load(2);
    come_and_go(offsets);
    load.stop();
    EXPECT_EQ(load.wrong(), 0u);
    EXPECT_GT(load.calls(), 0u);
    for (const Probe* probe : {&here, &behind}) {
        const djprobe_query query = probe->query();
        EXPECT_EQ(query.hits + missed(query), load.calls()) << query.symbol;
    }
}

// Only tasks that come and go are at the site.
TEST_F(Overlap, UnderLoadTheCallersNoticeNothing) {
    const std::vector<uint64_t> offsets = neighbours(3);
    Load load(2);
    come_and_go(offsets);
    load.stop();
    EXPECT_EQ(load.wrong(), 0u);
}

}  // namespace
}  // namespace djprobe::vm
