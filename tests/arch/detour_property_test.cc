// SPDX-License-Identifier: GPL-2.0
// Detours of random functions: no instruction can tell that it is displaced.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "support/detoured.h"
#include "support/random_code.h"

namespace djprobe::x86 {
namespace {

using test::Arena;

constexpr int kFunctions = 5000;

/// DJPROBE_SEED, to reproduce a failure or to look further.
u64 first_seed() {
    const char* given = std::getenv("DJPROBE_SEED");
    return given ? std::strtoull(given, nullptr, 0) : 1;
}

std::string hex(const test::Bytes& bytes) {
    std::string text;
    char two[4];
    for (const u8 byte : bytes) {
        std::snprintf(two, sizeof(two), "%02x ", byte);
        text += two;
    }
    return text;
}

class DetourPropertyTest : public testing::TestWithParam<Arena::Place> {};

TEST_P(DetourPropertyTest, RandomFunctionsRunAsIfTheyHadNoDetour) {
    const u64 first = first_seed();
    for (u64 seed = first; seed < first + kFunctions && !HasFailure(); ++seed) {
        // A seed of its own for each function, so that a failure is reproduced alone.
        test::Bench bench(GetParam(), seed);
        test::RandomCode random(bench, seed);
        const test::RandomFunction function = random.function();
        const std::string note = "DJPROBE_SEED=" + std::to_string(seed) + ", site at +" +
                                 std::to_string(function.site) + " of " + hex(function.code);
        SCOPED_TRACE(note);
        test::set_crash_note(note);
        test::Detoured detoured(bench, function.code, function.site);
        if (HasFailure()) return;
        for (int round = 0; round < 3; ++round)
            detoured.expect_same(random.start());
    }
}

TEST_P(DetourPropertyTest, RandomFunctionsRunAsIfTheyHadNoDetourByAnyTactic) {
    const u64 first = first_seed();
    size_t made[3] = {};
    for (u64 seed = first; seed < first + kFunctions && !HasFailure(); ++seed) {
        test::Bench bench(GetParam(), seed);
        test::RandomCode random(bench, seed);
        const test::RandomFunction function = random.cramped_function();
        if (!test::Detoured::is_possible(bench, function.code, function.site)) continue;
        const std::string note = "DJPROBE_SEED=" + std::to_string(seed) + ", cramped site at +" +
                                 std::to_string(function.site) + " of " + hex(function.code);
        SCOPED_TRACE(note);
        test::set_crash_note(note);
        test::Detoured detoured(bench, function.code, function.site);
        if (HasFailure()) return;
        ++made[static_cast<size_t>(detoured.plan().tactic)];
        for (int round = 0; round < 3; ++round)
            detoured.expect_same(random.start());
    }
    // Reproducing one function says nothing about the mix.
    if (std::getenv("DJPROBE_SEED")) return;
    for (const size_t count : made)
        EXPECT_GT(count, size_t{kFunctions / 20});
}

INSTANTIATE_TEST_SUITE_P(, DetourPropertyTest,
                         testing::Values(Arena::Place::Low, Arena::Place::High),
                         [](const auto& info) {
                             return info.param == Arena::Place::Low ? "Low" : "High";
                         });

}  // namespace
}  // namespace djprobe::x86
