// SPDX-License-Identifier: GPL-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "bench/choose.h"
#include "bench/mechanism.h"
#include "bench/text_watch.h"
#include "bench/workload.h"

namespace djprobe::loader {
namespace {

using Bytes = std::vector<std::uint8_t>;

// endbr64; ftrace nop; push %rbx; mov %rsi,%r12; ret; int3 filler
const Bytes kFunction = {0xf3, 0x0f, 0x1e, 0xfa, 0x0f, 0x1f, 0x44, 0x00,
                         0x00, 0x53, 0x49, 0x89, 0xf4, 0xc3, 0xcc, 0xcc};

TEST(BenchPlace, entry_is_behind_endbr_and_ftrace) {
    EXPECT_EQ(entry_offset(kFunction), 9U);
}

TEST(BenchPlace, entry_is_behind_a_sealed_endbr) {
    Bytes sealed = kFunction;
    const Bytes nop = {0x0f, 0x1f, 0x40, 0x00};
    std::ranges::copy(nop, sealed.begin());
    EXPECT_EQ(entry_offset(sealed), 9U);
}

TEST(BenchPlace, entry_without_endbr_or_without_both) {
    EXPECT_EQ(entry_offset(Bytes(kFunction.begin() + 4, kFunction.end())), 5U);
    EXPECT_EQ(entry_offset(Bytes(kFunction.begin() + 9, kFunction.end())), 0U);
    EXPECT_EQ(entry_offset({}), 0U);
}

TEST(BenchPlace, boundaries_end_with_the_return) {
    EXPECT_EQ(boundaries(kFunction, 9), (std::vector<std::uint64_t>{9, 10, 13}));
}

TEST(BenchPlace, boundaries_end_with_the_function) {
    EXPECT_EQ(boundaries({0x90, 0x90}, 0), (std::vector<std::uint64_t>{0, 1}));
    EXPECT_TRUE(boundaries({0x90}, 5).empty());
}

TEST(TextPatch, is_the_first_byte_that_differs) {
    EXPECT_EQ(first_patch(kFunction, kFunction), std::nullopt);
    Bytes now = kFunction;
    now[9] = kOpInt3;
    EXPECT_EQ(first_patch(kFunction, now), (Patch{9, kOpInt3}));
    now[4] = kOpCall;
    EXPECT_EQ(first_patch(kFunction, now), (Patch{4, kOpCall}));
}

TEST(TextPatch, is_named_as_people_do) {
    EXPECT_EQ((Patch{9, kOpInt3}).str(), "int3 +0x9");
    EXPECT_EQ((Patch{31, kOpJump}).str(), "jmp +0x1f");
    EXPECT_EQ((Patch{31, kOpShortJump}).str(), "jmp +0x1f");
    EXPECT_EQ((Patch{0, kOpCall}).str(), "call +0x0");
    EXPECT_EQ((Patch{2, 0x66}).str(), "66 +0x2");
}

TEST(Mechanisms, are_found_by_name) {
    for (const MechanismInfo& info : mechanisms())
        EXPECT_EQ(find_mechanism(info.name), &info);
    EXPECT_EQ(find_mechanism("uprobe"), nullptr);
}

TEST(Mechanisms, only_int3_needs_the_kernels_optimization_off) {
    for (const MechanismInfo& info : mechanisms())
        EXPECT_EQ(info.optimized(), std::string_view(info.name) != "kprobe-int3") << info.name;
}

TEST(Mechanisms, place_tells_what_is_probed) {
    const BenchSite entry{"entry", "f", 9, true};
    EXPECT_EQ(place_of(*find_mechanism("djprobe-jump"), entry), "f+0x9");
    EXPECT_EQ(place_of(*find_mechanism("fentry"), entry), "f");
    EXPECT_EQ(place_of(*find_mechanism("raw-tracepoint"), entry), "task_rename");
}

TEST(Workloads, the_first_fires_the_tracepoint) {
    EXPECT_STREQ(workloads().front().function, kTracepointFunction);
}

TEST(Workloads, blocks_are_timed_one_by_one) {
    int between = 0;
    const auto samples = time_blocks(workloads().front(), {5, 10}, [&] { ++between; });
    EXPECT_EQ(samples.size(), 5U);
    EXPECT_EQ(between, 5);
    for (const double ns : samples)
        EXPECT_GT(ns, 0);
}

}  // namespace
}  // namespace djprobe::loader
