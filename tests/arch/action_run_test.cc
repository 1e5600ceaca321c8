// SPDX-License-Identifier: GPL-2.0
// Detours that hold actions, on the real CPU.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "support/action_meaning.h"
#include "support/count_fixture.h"
#include "support/printers.h"

namespace djprobe::x86 {
namespace {

using test::Actions;
using test::Arena;
using test::Detoured;
using test::DirectBench;
using test::kAllLive;
using test::kNothingLive;
using test::Machine;

constexpr size_t kCounters = 80;
constexpr u8 kDi = 7;

/// A million by DJPROBE_ACTION_LISTS.
u64 lists() {
    const char* const given = std::getenv("DJPROBE_ACTION_LISTS");
    return given ? std::strtoull(given, nullptr, 0) : 10'000;
}

/// Counters that lie where a displacement from %gs reaches, where it does not, or partly.
enum class Reach { Near, Far, Edge };

/// Around this distance from %gs, where nothing else is.
u64* map_counters(i64 distance) {
    constexpr size_t kPages = 2 * 4096;
    const u64 wanted = (reinterpret_cast<u64>(&DirectBench::per_cpu()) + distance - 4096) & ~4095ul;
    void* const at = mmap(reinterpret_cast<void*>(wanted), kPages, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (at == MAP_FAILED) throw std::runtime_error(std::strerror(errno));
    return reinterpret_cast<u64*>(reinterpret_cast<u64>(&DirectBench::per_cpu()) + distance);
}

u64* counters_at(Reach reach) {
    // The last reachable byte is at 0x7fffffff: half of the counters are, and of a histogram.
    constexpr i64 kEdge = 0x8000'0000 - 8 * kCounters / 2;
    static u64 near[kCounters];
    static u64* const far = map_counters(0x1'2340'0000);
    static u64* const edge = map_counters(kEdge);
    return reach == Reach::Near ? near : reach == Reach::Far ? far : edge;
}

i64 from_gs(const u64* counter) {
    return reinterpret_cast<i64>(counter) - reinterpret_cast<i64>(&DirectBench::per_cpu());
}

CountConfig config_for(Reach reach, bool lahf, const Actions& actions) {
    return {from_gs(counters_at(reach)), lahf, 0, {actions.data(), actions.size()}};
}

class ActionTest : public test::CountFixture {
  protected:
    size_t cost(Reach reach, bool lahf, const Actions& actions, const Live& live) {
        Detoured site(bench_, test::plain());
        count_at(site, config_for(reach, lahf, actions), live);
        return instructions();
    }
};

INSTANTIATE_TEST_SUITE_P(, ActionTest, testing::Values(Arena::Place::Low, Arena::Place::High),
                         test::place_name);

Action make(u8 operation, u8 reg = 0, u8 width = 0, u8 flags = 0, u32 offset = 0, u64 value = 0) {
    return {operation, reg, width, flags, offset, value};
}
Action count() {
    return make(DJPROBE_ACTION_COUNT);
}
Action log2(u8 reg, u8 width) {
    return make(DJPROBE_ACTION_LOG2, reg, width);
}
Action above(u8 reg, u8 width, u64 value) {
    return make(DJPROBE_ACTION_IF_GT, reg, width, 0, 0, value);
}

TEST_P(ActionTest, RandomListsDoWhatTheyMean) {
    std::mt19937_64 random(GetParam() == Arena::Place::Low);
    size_t changed = 0;
    u64 counted = 0;
    for (u64 round = lists(); round && !HasFailure(); --round) {
        const Actions actions = test::random_actions(random, kCounters * 8);
        const auto reach = static_cast<Reach>(random() % 3);
        const Live live = {static_cast<RegisterSet>(random() & random() & kCallerSaved),
                           random() % 2 == 0, false};
        const std::string note = test::describe(actions) + " live " +
                                 std::to_string(live.registers) + (live.flags ? " flags" : "");
        SCOPED_TRACE(note);
        test::set_crash_note(note);
        Detoured site(bench_, test::plain());
        count_at(site, config_for(reach, random() % 4 != 0, actions), live);
        u64* const counters = counters_at(reach);
        for (int hit = 0; hit < 4; ++hit) {
            Machine start = bench_.start();
            test::make_interesting(actions, start, random);
            std::vector<u64> expected(kCounters);
            for (u64& counter : expected)
                counter = random() >> random() % 64;
            std::copy(expected.begin(), expected.end(), counters);
            test::interpret(actions, start, expected);
            counted += !std::equal(expected.begin(), expected.end(), counters);
            const Machine end = run(start);
            EXPECT_TRUE(std::equal(expected.begin(), expected.end(), counters));
            changed += test::expect_kept(
                start, end, live.registers | operands_of({actions.data(), actions.size()}));
            if (live.flags) {
                EXPECT_EQ(end.flags, start.flags);
            }
        }
    }
    // Else it saves what it need not, or nothing was tried.
    EXPECT_GT(changed, lists());
    EXPECT_GT(counted, lists());
}

TEST_P(ActionTest, AHistogramHasASlotForEachBitAndForZero) {
    const Actions actions = {log2(kDi, 8)};
    for (const Reach reach : {Reach::Near, Reach::Far, Reach::Edge}) {
        u64* const counters = counters_at(reach);
        Detoured site(bench_, test::plain());
        count_at(site, config_for(reach, true, actions), kAllLive);
        const auto slot_of = [&](u64 value) {
            std::fill_n(counters, kCounters, 0);
            Machine machine = bench_.start();
            machine.registers[kDi] = value;
            run(machine);
            return std::find(counters, counters + kCounters, 1u) - counters;
        };
        EXPECT_EQ(slot_of(0), 0);
        for (int bit = 0; bit < 64; ++bit) {
            EXPECT_EQ(slot_of(u64{1} << bit), bit + 1);
            EXPECT_EQ(slot_of(~u64{0} >> (63 - bit)), bit + 1);
        }
    }
}

// The two jumps come on top.
TEST_P(ActionTest, CostsWhatTheListDemands) {
    const Actions filtered = {above(kDi, 8, 4096), count()};
    EXPECT_EQ(cost(Reach::Near, true, {count()}, kNothingLive), 1u);
    EXPECT_EQ(cost(Reach::Near, true, {log2(kDi, 8)}, kNothingLive), 3u);
    EXPECT_EQ(cost(Reach::Far, true, {log2(kDi, 8)}, kNothingLive), 4u);
    EXPECT_EQ(cost(Reach::Far, true, {log2(kDi, 4)}, kNothingLive), 5u);
    EXPECT_EQ(cost(Reach::Near, true, filtered, kNothingLive), 3u);
    EXPECT_EQ(cost(Reach::Far, true, filtered, kNothingLive), 4u);
    const Actions dearest = {above(kDi, 4, 0x1'0000'0000), count()};
    EXPECT_EQ(cost(Reach::Far, true, dearest, kNothingLive), 6u);
    for (const bool lahf : {false, true})
        for (const Reach reach : {Reach::Near, Reach::Far, Reach::Edge})
            for (RegisterSet live = 0; live < kCallerSaved; ++live)
                for (const u8 reg : {u8{kRax}, kDi, u8{DJPROBE_REG_SP}}) {
                    if (live & ~kCallerSaved) continue;
                    ASSERT_LE(cost(reach, lahf, {log2(reg, reg == kDi ? 4 : 8)}, {live, true}), 12u)
                        << live << " r" << int{reg};
                }
}

TEST(ActionListTest, OnlyActionsAreActions) {
    const auto is_action = [](const Action& action) {
        const Action list[] = {count(), action};
        return find_wrong_action(list) == 2;
    };
    EXPECT_TRUE(is_action(count()));
    EXPECT_TRUE(is_action(log2(15, 1)));
    EXPECT_TRUE(is_action(above(0, 2, ~0ul)));
    EXPECT_TRUE(is_action(make(DJPROBE_ACTION_ADD, 0, 4, DJPROBE_ACTION_SIGNED, 8)));
    for (const Action& wrong : {
             make(0),
             make(10, 0, 8),
             make(DJPROBE_ACTION_COUNT, 1),
             make(DJPROBE_ACTION_COUNT, 0, 8),
             make(DJPROBE_ACTION_COUNT, 0, 0, 1),
             make(DJPROBE_ACTION_COUNT, 0, 0, 0, 0, 1),
             make(DJPROBE_ACTION_ADD, 16, 8),
             make(DJPROBE_ACTION_ADD, 0, 0),
             make(DJPROBE_ACTION_ADD, 0, 3),
             make(DJPROBE_ACTION_ADD, 0, 16),
             make(DJPROBE_ACTION_ADD, 0, 8, 2),
             make(DJPROBE_ACTION_ADD, 0, 8, 0, 0, 1),
             make(DJPROBE_ACTION_LOG2, 0, 8, 0, 0, 1),
             make(DJPROBE_ACTION_IF_EQ, 0, 8, 0, 8),
             make(DJPROBE_ACTION_IF_GE, 0, 8, 4),
         })
        EXPECT_FALSE(is_action(wrong)) << test::describe({wrong});
}

}  // namespace
}  // namespace djprobe::x86
