// SPDX-License-Identifier: GPL-2.0
// Detours that hold actions, on the real CPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "support/action_meaning.h"
#include "support/count_fixture.h"
#include "support/counters.h"
#include "support/printers.h"
#include "support/random_lists.h"
#include "support/running_task.h"

namespace djprobe::x86 {
namespace {

using test::Actions;
using test::Arena;
using test::counters_at;
using test::Detoured;
using test::DirectBench;
using test::kAllLive;
using test::kListCounters;
using test::kNothingLive;
using test::Machine;
using test::Reach;

constexpr u8 kDi = 7;

CountConfig config_for(Reach reach, bool lahf, const Actions& actions) {
    return {test::from_gs(counters_at(reach)),
            lahf,
            0,
            {actions.data(), actions.size()},
            test::task_layout()};
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
Action extreme(u8 operation, u8 reg, u8 width = 8, u8 flags = 0) {
    return make(operation, reg, width, flags);
}
Action of_task(u8 field, u8 width, u64 value) {
    return make(DJPROBE_ACTION_IF_EQ, field, width, DJPROBE_ACTION_TASK, 0, value);
}
Action above(u8 reg, u8 width, u64 value) {
    return make(DJPROBE_ACTION_IF_GT, reg, width, 0, 0, value);
}

TEST_P(ActionTest, RandomListsDoWhatTheyMean) {
    std::mt19937_64 random(GetParam() == Arena::Place::Low);
    size_t changed = 0;
    u64 counted = 0;
    const u64 lists = test::random_lists(10'000);
    for (u64 round = lists; round && !HasFailure(); --round) {
        const Actions actions = test::random_actions(random, kListCounters * 8);
        const auto reach = static_cast<Reach>(random() % 3);
        const Live live = test::random_live(random);
        const std::string note = test::describe(actions) + " live " +
                                 std::to_string(live.registers) + (live.flags ? " flags" : "");
        SCOPED_TRACE(note);
        test::set_crash_note(note);
        Detoured site(bench_, test::plain());
        count_at(site, config_for(reach, random() % 4 != 0, actions), live);
        u64* const counters = counters_at(reach);
        for (int hit = 0; hit < 4; ++hit) {
            Machine start = bench_.start();
            test::Task task;
            test::make_interesting(actions, start, task, random);
            test::let_run(task);
            std::vector<u64> expected(kListCounters);
            for (u64& counter : expected)
                counter = random() >> random() % 64;
            std::copy(expected.begin(), expected.end(), counters);
            test::interpret(actions, start, task, expected);
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
    EXPECT_GT(changed, lists);
    EXPECT_GT(counted, lists);
}

TEST_P(ActionTest, AHistogramHasASlotForEachBitAndForZero) {
    const Actions actions = {log2(kDi, 8)};
    for (const Reach reach : {Reach::Near, Reach::Far, Reach::Edge}) {
        u64* const counters = counters_at(reach);
        Detoured site(bench_, test::plain());
        count_at(site, config_for(reach, true, actions), kAllLive);
        const auto slot_of = [&](u64 value) {
            std::fill_n(counters, kListCounters, 0);
            Machine machine = bench_.start();
            machine.registers[kDi] = value;
            run(machine);
            return std::find(counters, counters + kListCounters, 1u) - counters;
        };
        EXPECT_EQ(slot_of(0), 0);
        for (int bit = 0; bit < 64; ++bit) {
            EXPECT_EQ(slot_of(u64{1} << bit), bit + 1);
            EXPECT_EQ(slot_of(~u64{0} >> (63 - bit)), bit + 1);
        }
    }
}

// Relative to the site's stack pointer, from which pushes have moved.
TEST_P(ActionTest, ReadsTheStackOfTheSite) {
    const test::Bytes code = CODE(
        "push 0x12345678; nop dword ptr [rax + rax]; "
        "lea rsp, [rsp + 8]; jmp " ARENA_EXIT);
    const Actions actions = {
        make(DJPROBE_ACTION_ADD, DJPROBE_REG_SP, 8, DJPROBE_ACTION_MEMORY),
        make(DJPROBE_ACTION_IF_EQ, DJPROBE_REG_SP, 2, DJPROBE_ACTION_MEMORY, 1, 0x3456), count()};
    Detoured site(bench_, code, 5);
    const Machine start = bench_.start();
    count_at(site, config_for(Reach::Far, true, actions), kAllLive);
    counters_at(Reach::Far)[0] = 0;
    EXPECT_EQ(difference(run(start), start), "");
    EXPECT_EQ(counters_at(Reach::Far)[0], 0x1234'5679u);
}

TEST_P(ActionTest, AComparisonWithMemoryCosts3) {
    const Action field =
        make(DJPROBE_ACTION_IF_EQ, 12, 4, DJPROBE_ACTION_MEMORY, 0x18, 0x7fff'ffff);
    EXPECT_EQ(cost(Reach::Near, true, {field, count()}, kNothingLive), 4u);
    EXPECT_EQ(cost(Reach::Near, true, {log2(kDi, 4)}, kNothingLive), 4u);
    EXPECT_EQ(
        cost(Reach::Near, true, {make(DJPROBE_ACTION_LOG2, kDi, 4, DJPROBE_ACTION_MEMORY, 0, 0x18)},
             kNothingLive),
        4u);
}

TEST_P(ActionTest, AnExtremeBeginsAt0AndKeepsTheGreatestAndTheLeast) {
    for (const Reach reach : {Reach::Near, Reach::Far})
        for (const u8 flags : {0, DJPROBE_ACTION_SIGNED})
            for (const u8 reg : {u8{kRax}, kDi}) {
                Actions actions = {extreme(DJPROBE_ACTION_MAX, reg, 4, flags),
                                   extreme(DJPROBE_ACTION_MIN, reg, 4, flags)};
                actions[1].offset = 16;
                u64* const counters = counters_at(reach);
                std::fill_n(counters, kListCounters, 0);
                Detoured site(bench_, test::plain());
                count_at(site, config_for(reach, true, actions), kAllLive);
                for (const u32 value : {7u, 0xffff'fff0u, 3u, 5u, 0x7000'0000u}) {
                    Machine machine = bench_.start();
                    machine.registers[reg] = value;
                    EXPECT_EQ(difference(run(machine), machine), "");
                }
                const u64 turn = flags ? u64{1} << 63 : 0;
                EXPECT_EQ(counters[0] - turn, flags ? 0x7000'0000u : 0xffff'fff0u);
                EXPECT_EQ(~counters[2] - turn, flags ? u64(i64{-16}) : 3u);
                EXPECT_EQ(counters[1] + counters[3], 0u);
            }
}

// The two jumps come on top.
TEST_P(ActionTest, AFilterOnTheTaskCosts3) {
    const Action process = of_task(DJPROBE_TASK_TGID, 4, 1234);
    EXPECT_EQ(cost(Reach::Near, true, {process}, kNothingLive), 3u);
    EXPECT_EQ(cost(Reach::Near, true, {process, count()}, kNothingLive), 4u);
    EXPECT_EQ(cost(Reach::Far, true, {process, count()}, kNothingLive), 5u);
    const Action high = of_task(DJPROBE_TASK_TGID, 4, 0xffff'ffff);
    EXPECT_EQ(cost(Reach::Near, true, {high}, kNothingLive), 3u);
    const Action name = of_task(DJPROBE_TASK_COMM, 8, 0x6261'6473'6168'0000);
    EXPECT_EQ(cost(Reach::Near, true, {name}, kNothingLive), 4u);
}

// Of these a hit takes three that leaves the counter alone: load, compare, jump.
TEST_P(ActionTest, AnExtremeCosts10) {
    EXPECT_EQ(cost(Reach::Near, true, {extreme(DJPROBE_ACTION_MAX, kDi)}, kNothingLive), 10u);
    EXPECT_EQ(cost(Reach::Far, true, {extreme(DJPROBE_ACTION_MAX, kDi)}, kNothingLive), 11u);
    EXPECT_EQ(cost(Reach::Near, true, {extreme(DJPROBE_ACTION_MIN, kDi)}, kNothingLive), 12u);
    EXPECT_EQ(cost(Reach::Near, true, {extreme(DJPROBE_ACTION_MAX, kRax)}, kNothingLive), 12u);
}

// The two jumps come on top.
TEST_P(ActionTest, CostsWhatTheListDemands) {
    const Actions filtered = {above(kDi, 8, 4096), count()};
    EXPECT_EQ(cost(Reach::Near, true, {count()}, kNothingLive), 1u);
    EXPECT_EQ(cost(Reach::Near, true, {log2(kDi, 8)}, kNothingLive), 3u);
    EXPECT_EQ(cost(Reach::Far, true, {log2(kDi, 8)}, kNothingLive), 4u);
    EXPECT_EQ(cost(Reach::Far, true, {log2(kDi, 4)}, kNothingLive), 5u);
    const Actions two = {log2(kDi, 8), make(DJPROBE_ACTION_ADD, kDi, 8, 0, 8 * 70)};
    EXPECT_EQ(cost(Reach::Near, true, two, kNothingLive), 4u);
    EXPECT_EQ(cost(Reach::Far, true, two, kNothingLive), 5u);
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
    EXPECT_TRUE(is_action(make(DJPROBE_ACTION_ADD, 0, 8, DJPROBE_ACTION_MEMORY, 8, ~0ul)));
    EXPECT_TRUE(is_action(make(DJPROBE_ACTION_IF_EQ, 4, 8, DJPROBE_ACTION_MEMORY, ~0u, 7)));
    EXPECT_TRUE(is_action(make(DJPROBE_ACTION_ADD, 0, 4, DJPROBE_ACTION_SIGNED, 8)));
    for (const Action& wrong : {
             make(0),
             make(DJPROBE_ACTION_ELAPSED + 1, 0, 8),
             make(DJPROBE_ACTION_COUNT, 1),
             make(DJPROBE_ACTION_COUNT, 0, 8),
             make(DJPROBE_ACTION_COUNT, 0, 0, 1),
             make(DJPROBE_ACTION_COUNT, 0, 0, 0, 0, 1),
             make(DJPROBE_ACTION_ADD, 16, 8),
             make(DJPROBE_ACTION_ADD, 0, 0),
             make(DJPROBE_ACTION_ADD, 0, 3),
             make(DJPROBE_ACTION_ADD, 0, 16),
             make(DJPROBE_ACTION_ADD, 0, 8, 16),
             make(DJPROBE_ACTION_ADD, 0, 8, DJPROBE_ACTION_MEMORY | DJPROBE_ACTION_TASK),
             make(DJPROBE_ACTION_ADD, 0, 8, DJPROBE_ACTION_MEMORY, 0, 0xffff'ffff),
             make(DJPROBE_ACTION_COUNT, 0, 0, DJPROBE_ACTION_MEMORY),
             make(DJPROBE_ACTION_IF_EQ, 16, 8, DJPROBE_ACTION_MEMORY),
             make(DJPROBE_ACTION_ADD, DJPROBE_TASK_PID, 8, DJPROBE_ACTION_TASK),
             make(DJPROBE_ACTION_IF_EQ, DJPROBE_TASK_FIELDS, 4, DJPROBE_ACTION_TASK),
             make(DJPROBE_ACTION_COUNT, 0, 0, DJPROBE_ACTION_TASK),
             make(DJPROBE_ACTION_MAX, 0, 8, 0, 0, 1),
             make(DJPROBE_ACTION_MIN, 16, 8),
             make(DJPROBE_ACTION_ADD, 0, 8, 0, 0, 1),
             make(DJPROBE_ACTION_LOG2, 0, 8, 0, 0, 1),
             make(DJPROBE_ACTION_IF_EQ, 0, 8, 0, 8),
             make(DJPROBE_ACTION_IF_GE, 0, 8, 8),
         })
        EXPECT_FALSE(is_action(wrong)) << test::describe({wrong});
}

TEST(ActionListTest, SoManyRegistersAndNoMore) {
    std::vector<Action> list;
    for (u8 reg = 0; reg < DJPROBE_OPERANDS_MAX; ++reg)
        list.push_back(log2(reg, 8));
    list.push_back(of_task(DJPROBE_TASK_COMM_8, 8, 0));
    list.push_back(log2(0, 4));
    EXPECT_EQ(find_wrong_action({list.data(), list.size()}), list.size());
    list.push_back(log2(15, 8));
    EXPECT_EQ(find_wrong_action({list.data(), list.size()}), list.size() - 1);
}

TEST(ActionListTest, SoManyExtremesAndNoMore) {
    std::vector<Action> list(DJPROBE_EXTREMES_MAX, extreme(DJPROBE_ACTION_MAX, 0));
    list.push_back(count());
    EXPECT_EQ(find_wrong_action({list.data(), list.size()}), list.size());
    list.push_back(extreme(DJPROBE_ACTION_MIN, 0));
    EXPECT_EQ(find_wrong_action({list.data(), list.size()}), list.size() - 1);
}

}  // namespace
}  // namespace djprobe::x86
