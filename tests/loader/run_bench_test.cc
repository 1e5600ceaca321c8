// SPDX-License-Identifier: GPL-2.0
#include <gtest/gtest.h>

#include "run/bench_report.h"

namespace djprobe::loader {
namespace {

ToolBench some_bench() {
    ToolBench bench;
    bench.workload = "true";
    bench.without = {1000, 1100, 900};
    bench.kernel = {5000, 5100, 4900};
    bench.ours = {2000, 2100, 1900};
    bench.hits = 10;
    bench.sums.jumps = 1;
    return bench;
}

TEST(RunBench, a_hit_costs_what_a_run_takes_longer) {
    const ToolBench bench = some_bench();
    EXPECT_DOUBLE_EQ(cost_per_hit(bench, bench.kernel).value(), 400);
    EXPECT_DOUBLE_EQ(cost_per_hit(bench, bench.ours).value(), 100);
    const std::string text = tool_bench_text(bench);
    EXPECT_NE(text.find("a hit costs 0.25 of what it costs by the kernel"), text.npos) << text;
    EXPECT_EQ(tool_bench_json(bench)["kernel_per_hit"], 400);
}

TEST(RunBench, without_hits_there_is_no_cost) {
    ToolBench bench = some_bench();
    bench.hits = 0;
    EXPECT_FALSE(cost_per_hit(bench, bench.kernel));
    EXPECT_NE(tool_bench_text(bench).find("does not hit the tool's probes"), std::string::npos);
    EXPECT_TRUE(tool_bench_json(bench)["djprobe_per_hit"].is_null());
}

TEST(RunBench, a_cost_below_nothing_is_noise) {
    ToolBench bench = some_bench();
    bench.kernel = bench.without;
    EXPECT_NE(tool_bench_text(bench).find("too short to tell"), std::string::npos);
}

}  // namespace
}  // namespace djprobe::loader
