// SPDX-License-Identifier: GPL-2.0
// The kernel's own statistics of a program (bpftool prog) say of ours what they say of others.
#include <bpf/bpf.h>

#include "../harness/fixture.h"

namespace djprobe::vm {
namespace {

constexpr uint64_t kCountedCalls = 1000;

struct Counts {
    uint64_t runs, misses;
};

class Statistics : public ProbeTest {
  protected:
    /// What the kernel has counted for a program while kGetpgid was called kCountedCalls times.
    static Counts of_calls(int prog_fd) {
        const Counts before = read(prog_fd);
        EXPECT_EQ(call_getpgid(kCountedCalls), 0u);
        const Counts after = read(prog_fd);
        return {after.runs - before.runs, after.misses - before.misses};
    }
    Object nest_{"nest"};

  private:
    static Counts read(int prog_fd) {
        bpf_prog_info info = {};
        __u32 size = sizeof info;
        EXPECT_EQ(bpf_obj_get_info_by_fd(prog_fd, &info, &size), 0);
        return {info.run_cnt, info.recursion_misses};
    }
    /// Runs are counted while it is open.
    const Fd on_{bpf_enable_stats(BPF_STATS_RUN_TIME)};
};

TEST_F(Statistics, EachHitIsARun) {
    for (const djprobe_mode mode : kBothModes) {
        const Probe probe = device_.must_attach(at(kGetpgid, 0, mode));
        expect_mechanism(probe, mode);
        const Counts counts = of_calls(counter());
        EXPECT_EQ(counts.runs, kCountedCalls);
        EXPECT_EQ(counts.misses, 0u);
    }
}

TEST_F(Statistics, EachMissedHitIsAMiss) {
    for (const djprobe_mode mode : kBothModes) {
        Request outer = at(kGetpgid);
        outer.prog_fd = nest_.program("nest_without_hash");
        const Probe nests = device_.must_attach(outer);
        const Probe probe = device_.must_attach(at("__bpf_ringbuf_reserve", 0, mode));
        expect_mechanism(probe, mode);
        const Counts counts = of_calls(counter());
        EXPECT_EQ(counts.runs, 0u);
        EXPECT_EQ(counts.misses, kCountedCalls);
    }
}

TEST_F(Statistics, TheEntryProgramOfASessionRuns) {
    djprobe_attach session = {};
    session.size = sizeof session;
    session.symbol = reinterpret_cast<uint64_t>(kGetpgid);
    session.flags = DJPROBE_ATTACH_RETURN | DJPROBE_ATTACH_SHADOW | DJPROBE_ATTACH_SESSION;
    session.prog_fd = counter();
    session.entry_prog_fd = nest_.program("nest_without_hash");
    const Fd probe(call_ioctl(device_.fd(), DJPROBE_IOC_ATTACH, &session));
    ASSERT_TRUE(probe);
    EXPECT_EQ(of_calls(session.entry_prog_fd).runs, kCountedCalls);
    EXPECT_EQ(of_calls(session.prog_fd).runs, 0u) << "the entry returns 0: it wants no return";
}

}  // namespace
}  // namespace djprobe::vm
