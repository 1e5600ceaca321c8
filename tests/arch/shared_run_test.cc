// SPDX-License-Identifier: GPL-2.0
// Detours that do the work of several: lists of actions, and a program behind them, on the real
// CPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <span>
#include <vector>

#include "support/action_meaning.h"
#include "support/count_fixture.h"
#include "support/counters.h"
#include "support/printers.h"
#include "support/running_task.h"

namespace djprobe::x86 {
namespace {

using test::Actions;
using test::Arena;
using test::Bytes;
using test::counters_at;
using test::Detoured;
using test::DirectBench;
using test::kListCounters;
using test::kNothingLive;
using test::Machine;
using test::more_counters_at;
using test::Reach;

Span<const Action> all_of(const Actions& actions) {
    return {actions.data(), actions.size()};
}

/// One counting handler: its list, and where its counters are.
struct Counting {
    Actions actions;
    u64* counters;
    std::vector<u64> expected = {};

    CountConfig config(bool lahf) const {
        return {test::from_gs(counters), lahf, 0, all_of(actions), test::task_layout()};
    }
};

u64* counters_of(Reach reach, size_t list) {
    return list ? more_counters_at(reach, list) : counters_at(reach);
}

class SharedTest : public test::CountFixture {
  protected:
    size_t cost_beside_program(const std::vector<CountConfig>& first) {
        size_t cost[2] = {};
        for (const bool counts : {false, true}) {
            Detoured site(bench_, test::plain());
            DirectConfig config = direct_.config(kCallerSaved, FieldSet{0});
            if (counts) config.first = {first.data(), first.size()};
            program_at(site, config, kNothingLive);
            cost[counts] = instructions();
        }
        return cost[1] - cost[0];
    }
};

INSTANTIATE_TEST_SUITE_P(, SharedTest, testing::Values(Arena::Place::Low, Arena::Place::High),
                         test::place_name);

/// Lists that share kMostSharedActions with `taken` others.
std::vector<Counting> random_lists(std::mt19937_64& random, size_t lists, size_t taken) {
    std::vector<Counting> all;
    size_t room = kMostSharedActions - taken;
    for (size_t list = 0; list < lists; ++list) {
        Actions actions = test::random_actions(random, kListCounters * 8);
        actions.resize(std::min({actions.size(), room, size_t{1} + random() % 7}));
        room -= actions.size();
        const Reach reach = random() % 2 ? Reach::Near : Reach::Far;
        all.push_back({actions, counters_of(reach, list)});
    }
    return all;
}

/// All of a site's actions and conditions, for what machines have to hold.
Actions joined(const std::vector<Counting>& lists, const Actions& conditions) {
    Actions all = conditions;
    for (const Counting& list : lists)
        all.insert(all.end(), list.actions.begin(), list.actions.end());
    return all;
}

void fill(std::vector<Counting>& lists, const Machine& start, const test::Task& task,
          std::mt19937_64& random) {
    for (Counting& list : lists) {
        list.expected.resize(kListCounters);
        for (u64& counter : list.expected)
            counter = random() >> random() % 64;
        std::ranges::copy(list.expected, list.counters);
        test::interpret(list.actions, start, task, list.expected);
        // Without a list it is incremented.
        if (list.actions.empty()) ++list.expected[0];
    }
}

bool are_as_expected(const std::vector<Counting>& lists) {
    return std::ranges::all_of(lists, [](const Counting& one) {
        return std::ranges::equal(one.expected, std::span(one.counters, kListCounters));
    });
}

TEST_P(SharedTest, RandomListsAreDoneBeforeAProgramAndItsConditions) {
    std::mt19937_64 random(GetParam() == Arena::Place::Low);
    size_t passed = 0, missed = 0, filtered = 0;
    for (int round = 0; round < 4000 && !HasFailure(); ++round) {
        Actions conditions;
        if (random() % 2) conditions = test::random_conditions(random);
        if (conditions.size() > 4) conditions.resize(4);
        std::vector<Counting> lists = random_lists(random, 1 + random() % 2, conditions.size());
        const Live live = test::random_live(random);
        const bool lahf = random() % 4 != 0;
        DirectConfig config = random_call(random);
        config.front = {all_of(conditions), test::task_layout(), lahf};
        std::vector<CountConfig> first;
        for (const Counting& list : lists)
            first.push_back(list.config(lahf));
        config.first = {first.data(), first.size()};
        const Actions all = joined(lists, conditions);
        const std::string note = test::describe(all) + " live " + std::to_string(live.registers);
        SCOPED_TRACE(note);
        test::set_crash_note(note);
        Detoured site(bench_, test::plain());
        program_at(site, config, live);
        for (int hit = 0; hit < 4; ++hit) {
            DirectBench::reset();
            const bool busy = random() % 4 == 0;
            DirectBench::per_cpu().active = busy;
            Machine start = bench_.start();
            start.flags &= ~u64{test::kDirection};
            test::Task task;
            test::make_interesting(all, start, task, random);
            test::let_run(task);
            fill(lists, start, task, random);
            const bool passes = test::all_hold(conditions, start, task);
            ++(!passes ? filtered : busy ? missed : passed);
            const Machine end = run(start);
            EXPECT_TRUE(are_as_expected(lists));
            EXPECT_EQ(DirectBench::program().count, passes && !busy);
            EXPECT_EQ(DirectBench::slow().count, passes && busy);
            if (passes) {
                const test::Seen& seen = busy ? DirectBench::slow() : DirectBench::program();
                EXPECT_EQ(test::differences(seen.frame, test::frame_of(start, bench_.text()),
                                            config.context),
                          0u);
            }
            test::expect_kept(start, end, live.registers);
            if (live.flags) {
                EXPECT_EQ(end.flags, start.flags);
            }
        }
    }
    EXPECT_GT(passed, 1000u);
    EXPECT_GT(missed, 300u);
    EXPECT_GT(filtered, 1000u);
}

TEST_P(SharedTest, RandomListsAreDoneOneAfterTheOther) {
    std::mt19937_64 random(GetParam() == Arena::Place::Low);
    size_t changed = 0;
    for (int round = 0; round < 4000 && !HasFailure(); ++round) {
        std::vector<Counting> lists = random_lists(random, 3, 0);
        const bool lahf = random() % 4 != 0;
        const Live live = test::random_live(random);
        std::vector<CountConfig> configs;
        for (const Counting& list : lists)
            configs.push_back(list.config(lahf));
        CountConfig last = configs.back();
        last.first = {configs.data(), configs.size() - 1};
        const Actions all = joined(lists, {});
        const std::string note = test::describe(all) + " live " + std::to_string(live.registers);
        SCOPED_TRACE(note);
        test::set_crash_note(note);
        Detoured site(bench_, test::plain());
        count_at(site, last, live);
        for (int hit = 0; hit < 4; ++hit) {
            Machine start = bench_.start();
            test::Task task;
            test::make_interesting(all, start, task, random);
            test::let_run(task);
            fill(lists, start, task, random);
            const Machine end = run(start);
            EXPECT_TRUE(are_as_expected(lists));
            changed += test::expect_kept(start, end, live.registers);
            if (live.flags) {
                EXPECT_EQ(end.flags, start.flags);
            }
        }
    }
    // Else it saves what it need not, or nothing was tried.
    EXPECT_GT(changed, 4000u);
}

// Where flags and a register are dead, as at each function's entry.
TEST_P(SharedTest, CountersBesideAProgramCostWhatTheyCostAlone) {
    const Counting near = {{}, counters_at(Reach::Near)}, far = {{}, counters_at(Reach::Far)};
    const Counting histogram = {{{DJPROBE_ACTION_LOG2, kRdi, 8, 0, 0, 0}},
                                more_counters_at(Reach::Near, 1)};
    EXPECT_EQ(cost_beside_program({near.config(true)}), 1u);
    EXPECT_EQ(cost_beside_program({far.config(true)}), 2u);
    EXPECT_EQ(cost_beside_program({histogram.config(true)}), 3u);
    EXPECT_EQ(cost_beside_program({near.config(true), histogram.config(true)}), 4u);
}

}  // namespace
}  // namespace djprobe::x86
