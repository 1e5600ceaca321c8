// SPDX-License-Identifier: GPL-2.0
// Detours that count, on the real CPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "support/count_fixture.h"
#include "support/printers.h"
#include "support/random_code.h"

namespace djprobe::x86 {
namespace {

using test::Arena;
using test::Detoured;
using test::DirectBench;
using test::kAllLive;
using test::kNothingLive;
using test::Machine;
using test::plain;
using test::set;
using enum Machine::Register;

class CountTest : public test::CountFixture {};

INSTANTIATE_TEST_SUITE_P(, CountTest, testing::Values(Arena::Place::Low, Arena::Place::High),
                         test::place_name);

TEST_P(CountTest, EachHitCountsOnce) {
    for (const bool far : {false, true}) {
        Detoured site(bench_, plain());
        count_at(site, config(far), kAllLive);
        const Machine machine = bench_.start();
        for (u64 hits = 1; hits <= 3; ++hits) {
            EXPECT_EQ(difference(run(machine), machine), "");
            EXPECT_EQ(counted(), hits);
        }
        EXPECT_EQ(DirectBench::far_hits(), far ? 3u : 0u);
    }
}

TEST_P(CountTest, AllBitsOfACounterCount) {
    for (const bool far : {false, true}) {
        Detoured site(bench_, plain());
        count_at(site, config(far), kAllLive);
        u64& counter = far ? DirectBench::far_hits() : DirectBench::per_cpu().hits;
        counter = 0xffff'ffff;
        run(bench_.start());
        EXPECT_EQ(counter, 0x1'0000'0000);
    }
}

TEST_P(CountTest, EveryFlagSurvives) {
    for (const bool far : {false, true})
        for (const bool lahf : {false, true})
            for (const RegisterSet live : {RegisterSet{0}, set(AX), kCallerSaved}) {
                Detoured site(bench_, plain());
                count_at(site, config(far, lahf), {live, true, true});
                for (unsigned int flags = 0; flags < 128; ++flags) {
                    Machine machine = bench_.start();
                    // CF PF AF ZF SF DF OF.
                    constexpr u8 kBits[] = {0, 2, 4, 6, 7, 10, 11};
                    machine.flags = 0x202;
                    for (size_t i = 0; i < std::size(kBits); ++i)
                        machine.flags |= static_cast<u64>(flags >> i & 1) << kBits[i];
                    EXPECT_EQ(run(machine).flags, machine.flags);
                }
            }
}

TEST_P(CountTest, CostsWhatTheSiteDemands) {
    struct Case {
        Live live;
        bool far, lahf;
        size_t instructions;
    };
    constexpr RegisterSet kNoRax = kCallerSaved & ~register_bit(kRax);
    constexpr RegisterSet kNoRdx = kCallerSaved & ~register_bit(kRdx);
    // The two jumps come on top.
    const Case kCases[] = {
        {kNothingLive, false, true, 1},
        {{kCallerSaved, false, true}, false, true, 1},
        {kNothingLive, true, true, 2},
        {{kNoRdx, false, false}, true, true, 2},
        {{kCallerSaved, false}, true, true, 4},
        {{0, true}, false, true, 5},
        {{0, true}, true, true, 6},
        {{kNoRax, true}, true, true, 8},
        {{kNoRdx, true}, true, true, 8},
        {kAllLive, false, true, 7},
        {kAllLive, true, true, 6},
        {{0, true}, false, false, 3},
        {{0, true}, true, false, 4},
        {kAllLive, true, false, 6},
    };
    for (const Case& one : kCases) {
        Detoured site(bench_, plain());
        count_at(site, config(one.far, one.lahf), one.live);
        EXPECT_EQ(instructions(), one.instructions)
            << one.live.registers << " flags " << one.live.flags << " far " << one.far;
    }
}

TEST_P(CountTest, WhatIsLiveSurvives) {
    std::mt19937_64 random(GetParam() == Arena::Place::Low);
    size_t changed = 0;
    for (int round = 0; round < 20000 && !HasFailure(); ++round) {
        const bool many = random() % 2 == 0;
        const Live live = {
            static_cast<RegisterSet>((many ? random() | random() : random()) & kCallerSaved),
            random() % 2 == 0, random() % 2 == 0};
        Detoured site(bench_, plain());
        count_at(site, config(random() % 2 == 0, random() % 4 != 0), live);
        EXPECT_LE(instructions(), live.flags ? 8u : 4u);
        const Machine start = bench_.start();
        const Machine end = run(start);
        SCOPED_TRACE(testing::Message() << "round " << round);
        changed += test::expect_kept(start, end, live.registers);
        if (live.flags) {
            EXPECT_EQ(end.flags, start.flags);
        }
        EXPECT_EQ(counted(), 1u);
    }
    // Else it has saved what it need not.
    EXPECT_GT(changed, 2000u);
}

TEST_P(CountTest, RandomFunctionsRunAsBeforeAndAreCounted) {
    size_t passed = 0;
    for (u64 seed = 1; seed < 3000 && !HasFailure(); ++seed) {
        test::RandomCode random(bench_, seed);
        const test::RandomFunction function = random.cramped_function();
        if (!Detoured::is_possible(bench_, function.code, function.site)) continue;
        const std::string note = "seed " + std::to_string(seed);
        SCOPED_TRACE(note);
        test::set_crash_note(note);
        Detoured site(bench_, function.code, function.site);
        const Machine machine = random.start();
        const test::Outcome original = bench_.run(machine, bench_.text());
        // The truth: how often a handler is called there.
        site.write_jump();
        test::last_hit() = {};
        bench_.run(machine, bench_.text());
        const u64 hits = test::last_hit().count;
        site.write_original();
        count_at(site, config(seed % 2 == 0), kAllLive);
        EXPECT_TRUE(same(bench_.run(machine, bench_.text()), original));
        EXPECT_EQ(counted(), hits);
        passed += hits;
    }
    EXPECT_GT(passed, 300u);
}

}  // namespace
}  // namespace djprobe::x86
