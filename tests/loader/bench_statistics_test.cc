// SPDX-License-Identifier: GPL-2.0
#include <gtest/gtest.h>

#include "bench/statistics.h"
#include "bench/unit.h"

namespace djprobe::loader {
namespace {

TEST(Statistics, quantiles_lie_between_neighbours) {
    const std::vector<double> sorted = {10, 20, 30, 40};
    EXPECT_DOUBLE_EQ(quantile(sorted, 0), 10);
    EXPECT_DOUBLE_EQ(quantile(sorted, 0.25), 17.5);
    EXPECT_DOUBLE_EQ(quantile(sorted, 0.5), 25);
    EXPECT_DOUBLE_EQ(quantile(sorted, 1), 40);
    EXPECT_DOUBLE_EQ(quantile({7}, 0.75), 7);
}

TEST(Statistics, order_does_not_matter) {
    EXPECT_DOUBLE_EQ(median({3, 1, 2}), 2);
    const Spread all = spread({5, 1, 4, 2, 3});
    EXPECT_DOUBLE_EQ(all.median, 3);
    EXPECT_DOUBLE_EQ(all.q1, 2);
    EXPECT_DOUBLE_EQ(all.q3, 4);
}

TEST(Statistics, an_interrupt_in_one_block_does_not_show) {
    EXPECT_DOUBLE_EQ(median({100, 100, 100, 100, 90'000}), 100);
}

constexpr std::uint64_t kLengths[] = {30'000, 60'000, 120'000};

// As a clock shows it that counts `ns` per instruction and costs `clock` to read.
std::vector<LoopSample> loops(std::initializer_list<double> ns_of_loop, double clock = 40) {
    std::vector<LoopSample> samples;
    unsigned loop = 0;
    for (const double ns : ns_of_loop) {
        for (const std::uint64_t length : kLengths)
            samples.push_back({loop, length, clock + ns * static_cast<double>(length)});
        ++loop;
    }
    return samples;
}

TEST(UnitDetection, the_same_cost_of_all_instructions_is_icount) {
    const Unit unit = detect_unit(loops({1, 1, 1}));
    EXPECT_TRUE(unit.instructions);
    EXPECT_DOUBLE_EQ(unit.ns_per_instruction, 1);
    EXPECT_STREQ(unit.name(), "instructions");
}

TEST(UnitDetection, the_factor_calibrates) {
    const Unit unit = detect_unit(loops({8, 8, 8}));
    EXPECT_TRUE(unit.instructions);
    EXPECT_DOUBLE_EQ(unit.from_ns(1344), 168);
}

TEST(UnitDetection, the_guests_own_calibration_may_be_off_for_all_alike) {
    const Unit unit = detect_unit(loops({0.99998, 0.99998, 0.99998}));
    EXPECT_TRUE(unit.instructions);
    EXPECT_DOUBLE_EQ(unit.ns_per_instruction, 0.99998);
}

TEST(UnitDetection, interrupts_in_some_runs_do_not_matter) {
    std::vector<LoopSample> samples = loops({1, 1, 1});
    for (LoopSample sample : loops({1, 1, 1}, 9000))
        samples.push_back(sample);
    EXPECT_TRUE(detect_unit(samples).instructions);
}

TEST(UnitDetection, a_cpu_divides_slower_than_it_adds) {
    const Unit unit = detect_unit(loops({0.1, 0.5, 2.5}));
    EXPECT_FALSE(unit.instructions);
    EXPECT_STREQ(unit.name(), "ns");
    EXPECT_DOUBLE_EQ(unit.from_ns(12.5), 12.5);
}

TEST(UnitDetection, one_per_cent_is_too_much_of_a_difference) {
    EXPECT_FALSE(detect_unit(loops({1, 1, 1.01})).instructions);
}

TEST(UnitDetection, cost_must_not_depend_on_the_length) {
    std::vector<LoopSample> samples = loops({1, 1, 1});
    samples.back().ns *= 1.05;  // the longest run of the last loop, throttled
    EXPECT_FALSE(detect_unit(samples).instructions);
}

TEST(UnitDetection, too_few_samples_say_nothing) {
    EXPECT_FALSE(detect_unit({}).instructions);
    EXPECT_FALSE(detect_unit(loops({1})).instructions);
    EXPECT_FALSE(detect_unit(std::vector<LoopSample>{{0, 100, 100}, {1, 100, 100}}).instructions);
    EXPECT_FALSE(detect_unit(loops({0, 0, 0})).instructions);
}

TEST(UnitDetection, this_machine_has_a_clock) {
    const std::vector<LoopSample> samples = time_loops();
    EXPECT_GT(samples.size(), 8U);
    for (const LoopSample& sample : samples) {
        EXPECT_GT(sample.instructions, 0U);
        EXPECT_GT(sample.ns, 0);
    }
}

}  // namespace
}  // namespace djprobe::loader
