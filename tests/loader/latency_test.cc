// SPDX-License-Identifier: GPL-2.0
// What `probeload latency` makes of what its programs have seen.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "latency/results.h"
#include "latency/table.h"

namespace djprobe::loader {
namespace {

// As a program adds it.
void add(latency_times& times, std::uint64_t time, int slot) {
    times.sum += time;
    times.inverted_least = std::max<std::uint64_t>(times.inverted_least, ~time);
    times.most = std::max<std::uint64_t>(times.most, time);
    ++times.slots[slot];
}

std::vector<latency_seen> three_cpus() {
    std::vector<latency_seen> cpus(3);
    add(cpus[0].all, 1500, 10);
    cpus[0].begins = 5;
    cpus[0].again = 1;
    cpus[0].missed_begins = 7;
    add(cpus[2].all, 0, 0);
    add(cpus[2].all, 700, 9);
    cpus[2].unbegun = 2;
    cpus[2].missed_ends = 8;
    return cpus;
}

TEST(Latency, adds_up_what_all_cpus_have_seen) {
    const LatencyResults results = add_up(three_cpus());
    EXPECT_EQ(results.all.pairs, 3U);
    EXPECT_EQ(results.all.sum, 2200U);
    EXPECT_EQ(results.all.mean(), 733U);
    EXPECT_EQ(results.all.least, 0U);
    EXPECT_EQ(results.all.most, 1500U);
    EXPECT_EQ(results.unpaired.again, 1U);
    EXPECT_EQ(results.unpaired.unbegun, 2U);
    EXPECT_EQ(results.unpaired.unended, 1U);
    EXPECT_EQ(results.unpaired.missed_begins, 7U);
    EXPECT_EQ(results.unpaired.missed_ends, 8U);
    EXPECT_TRUE(results.parts.empty());
}

TEST(Latency, is_a_distribution_of_all_or_of_each_part_that_is_shown) {
    const LatencyStyle all{"vfs_read", "vfs_read:return"};
    const std::vector<Distribution> one = latency_distributions(add_up(three_cpus()), all);
    ASSERT_EQ(one.size(), 1U);
    EXPECT_EQ(one[0].unit, Distribution::Unit::kNanoseconds);
    EXPECT_EQ(one[0].count, 3U);
    EXPECT_EQ(one[0].sum, 2200);
    EXPECT_EQ(one[0].buckets.at(9).value, 1023);
    EXPECT_EQ(one[0].buckets.at(9).count, 2U);
    const LatencyStyle by_cpu{"vfs_read", "vfs_read:return", LatencyBy::kCpu, 1};
    const auto parts = latency_distributions(add_up_by_cpu(three_cpus()), by_cpu);
    ASSERT_EQ(parts.size(), 1U);
    EXPECT_EQ(parts[0].labels.back(), std::pair(std::string("cpu"), std::string("2")));
    EXPECT_EQ(parts[0].sum, 700);
}

TEST(Latency, has_a_part_for_each_cpu_with_a_pair) {
    const LatencyResults results = add_up_by_cpu(three_cpus());
    ASSERT_EQ(results.parts.size(), 2U);
    EXPECT_EQ(results.parts[0].key, "2");
    EXPECT_EQ(results.parts[0].times.pairs, 2U);
    EXPECT_EQ(results.parts[1].key, "0");
    EXPECT_EQ(results.parts[1].times.least, 1500U);
}

// While the programs run, the end may be read and the begin not yet.
TEST(Latency, never_has_less_than_no_begin_without_an_end) {
    std::vector<latency_seen> cpus(1);
    add(cpus[0].all, 5, 2);
    EXPECT_EQ(add_up(cpus).unpaired.unended, 0U);
}

TEST(Latency, shows_each_case_also_without_any_hit) {
    EXPECT_EQ(
        latency_text({}, {"a", "b"}),
        "         PAIRS        MEAN NS         MIN NS         MAX NS\n"
        "             0              0              0              0\n"
        "         COUNT  WITHOUT A PAIR\n"
        "             0  begin again: a later one took its place\n"
        "             0  end without begin\n"
        "             0  begin without end\n"
        "             0  begin missed: the task's number was above kernel.pid_max at the start\n"
        "             0  end missed: the same\n");
}

TEST(Latency, draws_a_histogram_of_each_part) {
    EXPECT_EQ(
        latency_text(add_up_by_cpu(three_cpus()), {"a", "b", LatencyBy::kCpu, 1}),
        "         PAIRS        MEAN NS         MIN NS         MAX NS  CPU\n"
        "             2            350              0            700  2\n"
        "           0 -> 1                     1 |****************************************|\n"
        "           2 -> 3                     0 |                                        |\n"
        "           4 -> 7                     0 |                                        |\n"
        "           8 -> 15                    0 |                                        |\n"
        "          16 -> 31                    0 |                                        |\n"
        "          32 -> 63                    0 |                                        |\n"
        "          64 -> 127                   0 |                                        |\n"
        "         128 -> 255                   0 |                                        |\n"
        "         256 -> 511                   0 |                                        |\n"
        "         512 -> 1023                  1 |****************************************|\n"
        "1 line more: --top shows them\n"
        "             3            733              0           1500  (all)\n"
        "         COUNT  WITHOUT A PAIR\n"
        "             1  begin again: a later one took its place\n"
        "             2  end without begin\n"
        "             1  begin without end\n"
        "             7  begin missed: the task's number was above kernel.pid_max at the start\n"
        "             8  end missed: the same\n");
}

TEST(Latency, names_of_tasks_are_foreign_and_may_have_no_room) {
    LatencyResults results;
    results.parts.push_back({"a\nb", {}});
    results.unnamed = 2;
    const std::string text = latency_text(results, {"a", "b", LatencyBy::kComm});
    EXPECT_NE(text.find("  a\\x0ab\n"), std::string::npos) << text;
    EXPECT_NE(text.find("\n2 pairs in no line above: there is room for 1024 names\n"),
              std::string::npos);
}

TEST(Latency, is_one_json_object) {
    const auto json = nlohmann::json::parse(
        latency_json(add_up_by_cpu(three_cpus()), {"a", "b:return", LatencyBy::kCpu}, 1.5));
    EXPECT_EQ(json["type"], "latency");
    EXPECT_EQ(json["seconds"], 1.5);
    EXPECT_EQ(json["from"], "a");
    EXPECT_EQ(json["to"], "b:return");
    EXPECT_EQ(json["pairs"], 3);
    EXPECT_EQ(json["mean"], 733);
    EXPECT_EQ(json["unended"], 1);
    EXPECT_EQ(json["slots"].size(), 3U);
    EXPECT_EQ(json["slots"][2], (nlohmann::json{{"from", 1024}, {"to", 2047}, {"count", 1}}));
    EXPECT_EQ(json["by"].size(), 2U);
    EXPECT_EQ(json["by"][0]["cpu"], 2);
    EXPECT_EQ(json["by"][0]["min"], 0);
    EXPECT_FALSE(nlohmann::json::parse(latency_json({}, {"a", "b"}, 1)).contains("by"));
}

}  // namespace
}  // namespace djprobe::loader
