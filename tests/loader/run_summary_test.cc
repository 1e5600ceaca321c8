// SPDX-License-Identifier: GPL-2.0
#include <gtest/gtest.h>

#include "run/ledger.h"
#include "run/summary.h"

namespace djprobe::loader {
namespace {

ProbeState probe_with(std::uint32_t state, std::uint32_t reason, std::uint32_t flags = 0) {
    ProbeState query = {};
    query.state = state;
    query.reason = reason;
    query.flags = flags;
    query.hits = 10;
    return query;
}

RunSums some_sums() {
    RunSums sums;
    sums.add(probe_with(DJPROBE_STATE_OPTIMIZED, DJPROBE_REASON_NONE));
    sums.add(probe_with(DJPROBE_STATE_OPTIMIZING, DJPROBE_REASON_NONE, DJPROBE_ATTACH_RETURN));
    sums.add(probe_with(DJPROBE_STATE_ARMED, DJPROBE_REASON_SHORT_REGION,
                        DJPROBE_ATTACH_RETURN | DJPROBE_ATTACH_SHADOW));
    sums.missed[DJPROBE_MISS_NMI] = 2;
    sums.by_kernel = {{"bug-site", 1}, {"one-task", 3}};
    return sums;
}

TEST(RunSummary, tells_how_the_probes_were_placed_and_why_not) {
    EXPECT_EQ(
        run_text(some_sums()),
        "3 probes by djprobe: 2 by jump, 1 by int3 (short-region 1); at returns 1 exact, 1 by "
        "shadow; hits 30, missed 2 (nmi 2)\n"
        "4 probes by the kernel: one-task 3, bug-site 1\n");
    EXPECT_EQ(run_text({}), "0 probes by djprobe: 0 by jump, 0 by int3; hits 0, missed 0\n");
}

TEST(RunSummary, a_probe_that_is_being_closed_counts_as_it_was_in_the_text) {
    const ProbeState jump = probe_with(DJPROBE_STATE_OPTIMIZED, DJPROBE_REASON_NONE);
    const ProbeState soon = probe_with(DJPROBE_STATE_OPTIMIZING, DJPROBE_REASON_NONE);
    const ProbeState out = probe_with(DJPROBE_STATE_DISARMED, DJPROBE_REASON_NONE);
    RunSums sums;
    for (const ProbeState& last : last_in_text({soon, soon, out}, {out, jump, out}))
        sums.add(last);
    EXPECT_EQ(sums.jumps, 2);
    EXPECT_EQ(sums.unarmed, 1);
    // What was never looked at is as it is.
    EXPECT_EQ(last_in_text({}, {out}).front().state, DJPROBE_STATE_DISARMED);
}

TEST(RunSummary, is_the_same_in_json) {
    EXPECT_EQ(run_json(some_sums()).dump(),
              R"({"type":"run","jump":2,"int3":1,"int3_reasons":{"short-region":1},"disarmed":0,)"
              R"("exact_returns":1,"shadow_returns":1,"hits":30,)"
              R"("missed":{"recursion":0,"bpf-busy":0,"nmi":2,"no-instance":0},)"
              R"("by_kernel":{"bug-site":1,"one-task":3}})");
}

}  // namespace
}  // namespace djprobe::loader
