// SPDX-License-Identifier: GPL-2.0
// Detours that hold TIME or ELAPSED, on the real CPU and its clock, against what
// uapi/djprobe_action.h says.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <x86intrin.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>
#include <stdexcept>

#include "support/action_meaning.h"
#include "support/count_fixture.h"
#include "support/printers.h"
#include "support/random_lists.h"

namespace djprobe::x86 {
namespace {

using test::Actions;
using test::Arena;
using test::Detoured;
using test::DirectBench;
using test::kAllLive;
using test::kNothingLive;
using test::Machine;

constexpr u64 kNoPart = ~u64{0};
constexpr u32 kMask = 63;

/// The counters of a list, in this order.
enum Counter : u32 { kHits = 0, kTimer = 1, kSum = 4, kMost = 5, kLeast = 7, kSlots = 9 };
constexpr size_t kCounters = kSlots + DJPROBE_LOG2_SLOTS;

struct {
    u8 before[0x2c1];
    u32 pid;
} __attribute__((packed)) running;
const void* current = &running;
u32 cpu;
u64 table[DJPROBE_TIMES_HEAD + kMask + 1];

i64 from_gs(const void* what) {
    return reinterpret_cast<i64>(what) - reinterpret_cast<i64>(&DirectBench::per_cpu());
}

u64* far_counters() {
    const u64 wanted = (reinterpret_cast<u64>(&DirectBench::per_cpu()) + 0x1'4340'0000) & ~4095ul;
    void* const at = mmap(reinterpret_cast<void*>(wanted), 4096, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (at == MAP_FAILED) throw std::runtime_error(std::strerror(errno));
    return static_cast<u64*>(at);
}

u64* counters_at(bool far) {
    static u64 near[kCounters];
    static u64* const away = far_counters();
    return far ? away : near;
}

Action on(u8 operation, u32 counter) {
    return {operation, 0, 8, DJPROBE_ACTION_TOOK, counter * 8, 0};
}
Action timer(u8 operation, u64 value = 0) {
    return {operation, 0, 0, 0, kTimer * 8, value};
}
const Action kCount = {DJPROBE_ACTION_COUNT, 0, 0, 0, kHits * 8, 0};

Actions begin() {
    return {kCount, timer(DJPROBE_ACTION_TIME)};
}
Actions end(u64 value) {
    return {kCount,
            timer(DJPROBE_ACTION_ELAPSED, value),
            on(DJPROBE_ACTION_ADD, kSum),
            on(DJPROBE_ACTION_LOG2, kSlots),
            on(DJPROBE_ACTION_MAX, kMost),
            on(DJPROBE_ACTION_MIN, kLeast)};
}

CountConfig config_for(bool far, const Actions& actions) {
    TaskLayout task = {static_cast<i32>(from_gs(&current))};
    task.fields[DJPROBE_TASK_PID] = offsetof(decltype(running), pid);
    CountConfig config = {from_gs(counters_at(far)), true, 0, {actions.data(), actions.size()}};
    config.task = task;
    config.times = {reinterpret_cast<u64>(table), kMask, static_cast<i32>(from_gs(&cpu))};
    return config;
}

u64 scaled(u64 ticks, u64 value) {
    return static_cast<u64>(static_cast<unsigned __int128>(ticks) * value >> 32);
}

class TimerTest : public test::CountFixture {
  protected:
    void SetUp() override {
        std::fill(std::begin(table), std::end(table), 0);
        table[0] = kMask;
        table[DJPROBE_TIMES_HEAD] = kNoPart;
    }
    /// One hit, from these registers: what it left of them, and the clock before and behind.
    struct Hit {
        Machine machine;
        u64 before, after;
    };
    Hit hit(const Machine& start) {
        Hit hit = {};
        _mm_lfence();
        hit.before = __rdtsc();
        hit.machine = run(start);
        _mm_lfence();
        hit.after = __rdtsc();
        return hit;
    }
    size_t cost(const Actions& actions, bool far = false) {
        Detoured site(bench_, test::plain());
        count_at(site, config_for(far, actions), kNothingLive);
        return instructions();
    }
};

INSTANTIATE_TEST_SUITE_P(, TimerTest, testing::Values(Arena::Place::Low, Arena::Place::High),
                         test::place_name);

/// Where the running task's time is, as the header says; null: it has no place.
u64* slot_of(u32 pid) {
    if (pid > kMask) return nullptr;
    if (pid) return &table[DJPROBE_TIMES_HEAD + DJPROBE_TIMES_INDEX(pid, kMask)];
    return &table[DJPROBE_TIMES_INDEX(1 + cpu, DJPROBE_TIMES_HEAD - 1)];
}

/// What a hit of `begin()` or `end()` does to the counters, but for what it measures: false if it
/// measures nothing.
bool expect_timer(bool is_begin, u32 pid, u64 slot, std::vector<u64>& counters) {
    ++counters[kHits];
    const bool is_idle = pid == 0;
    if (table[0] == 0 || (!is_idle && pid <= kMask && pid > table[0])) return false;
    if (pid > kMask) {
        ++counters[kTimer + (is_begin ? 2 : 1)];
        return false;
    }
    if (slot == kNoPart) return false;
    if (is_begin || !slot) ++counters[kTimer + (is_begin && slot ? 1 : 0)];
    return is_begin || slot;
}

TEST_P(TimerTest, RandomHitsDoWhatTheyMean) {
    std::mt19937_64 random(GetParam() == Arena::Place::Low);
    size_t changed = 0, measured = 0;
    const u64 rounds = test::random_lists(20'000);
    for (u64 round = 0; round < rounds && !HasFailure(); ++round) {
        const bool is_begin = random() % 2, far = random() % 2;
        const u64 value = 1 + (random() >> random() % 63);
        const Live live = {static_cast<RegisterSet>(random() & random() & kCallerSaved),
                           random() % 2 == 0, false};
        Detoured site(bench_, test::plain());
        const Actions list = is_begin ? begin() : end(value);
        count_at(site, config_for(far, list), live);
        SetUp();
        const u64 kSwitches[] = {0, kMask, kMask, kMask, kMask / 2};
        table[0] = kSwitches[random() % 5];
        running.pid = static_cast<u32>(random() % 4 ? random() % (kMask + 2) : random() >> 32);
        if (random() % 8 == 0) running.pid = 0;
        cpu = static_cast<u32>(random() % 64);
        const u64 now = __rdtsc();
        const u64 kTimes[] = {0, kNoPart, now - random() % 1'000'000, now - (now >> random() % 64),
                              now + 1'000'000'000'000};
        u64* const slot = slot_of(running.pid);
        const u64 began = kTimes[random() % 5];
        if (slot) *slot = began;
        std::vector<u64> expected(kCounters);
        for (u64& counter : expected)
            counter = random() >> random() % 64;
        u64* const counters = counters_at(far);
        std::copy(expected.begin(), expected.end(), counters);
        const std::vector<u64> entries(std::begin(table), std::end(table));

        const Machine start = bench_.start();
        const Hit seen = hit(start);
        changed += test::expect_kept(start, seen.machine, live.registers);
        if (live.flags) {
            EXPECT_EQ(seen.machine.flags, start.flags);
        }
        std::vector<u64> left = entries;
        if (expect_timer(is_begin, running.pid, began, expected)) {
            const auto at = static_cast<size_t>(slot - table);
            if (is_begin) {
                EXPECT_GE(*slot, seen.before);
                EXPECT_LE(*slot, seen.after);
                left[at] = *slot;
            } else {
                const u64 took = counters[kSum] - expected[kSum];
                EXPECT_GE(took, scaled(seen.before - std::min(began, seen.before), value));
                EXPECT_LE(took, scaled(seen.after - std::min(began, seen.after), value));
                left[at] = 0;
                expected[kSum] += took;
                ++expected[kSlots + static_cast<size_t>(std::bit_width(took))];
                expected[kMost] = std::max(expected[kMost], took);
                expected[kLeast] = std::max(expected[kLeast], ~took);
                ++measured;
            }
        }
        EXPECT_TRUE(std::equal(expected.begin(), expected.end(), counters));
        EXPECT_TRUE(std::equal(left.begin(), left.end(), table));
    }
    EXPECT_GT(changed, rounds);
    EXPECT_GT(measured, rounds / 20);
}

// The two jumps come on top. Of a begin's 17 and an end's 23 lfence, rdtsc, shl and or are 4 each.
TEST_P(TimerTest, APairCosts) {
    EXPECT_EQ(cost({timer(DJPROBE_ACTION_TIME)}), 17u);
    EXPECT_EQ(cost({timer(DJPROBE_ACTION_ELAPSED, 7)}), 23u);
    EXPECT_EQ(cost({timer(DJPROBE_ACTION_ELAPSED, ~u64{0})}), 23u);
}

TEST_P(TimerTest, OneRegisterReachesAllFarCounters) {
    for (const Actions& actions : {begin(), end(7)})
        EXPECT_EQ(cost(actions, true), cost(actions) + 1);
}

TEST(TimerListTest, ATimerGoesWithWhatNeedsNoRegister) {
    const auto wrong = [](const Actions& list) {
        return find_wrong_action({list.data(), list.size()});
    };
    const Action of_task = {DJPROBE_ACTION_IF_EQ, DJPROBE_TASK_TGID, 4, DJPROBE_ACTION_TASK, 0, 7};
    const Action above = {DJPROBE_ACTION_IF_GT, 0, 8, DJPROBE_ACTION_TOOK, 0, 1000};
    const Action of_register = {DJPROBE_ACTION_ADD, 7, 8, 0, 0, 0};
    const Action in_memory = {DJPROBE_ACTION_ADD, 4, 8, DJPROBE_ACTION_MEMORY, 0, 0};
    const Action elapsed = timer(DJPROBE_ACTION_ELAPSED, 7);
    EXPECT_EQ(wrong({of_task, timer(DJPROBE_ACTION_TIME)}), 2u);
    EXPECT_EQ(wrong({of_task, elapsed, above, on(DJPROBE_ACTION_MIN, 0)}), 4u);
    EXPECT_EQ(wrong({of_register, elapsed}), 1u);
    EXPECT_EQ(wrong({elapsed, of_register}), 1u);
    EXPECT_EQ(wrong({elapsed, in_memory}), 1u);
    EXPECT_EQ(wrong({elapsed, elapsed}), 1u);
    EXPECT_EQ(wrong({timer(DJPROBE_ACTION_TIME), elapsed}), 1u);
    EXPECT_EQ(wrong({on(DJPROBE_ACTION_ADD, 0), elapsed}), 0u);
    EXPECT_EQ(wrong({timer(DJPROBE_ACTION_TIME), on(DJPROBE_ACTION_ADD, 0)}), 1u);
    EXPECT_EQ(wrong({timer(DJPROBE_ACTION_ELAPSED)}), 0u);
    EXPECT_EQ(wrong({timer(DJPROBE_ACTION_TIME, 1)}), 0u);
    for (const Action& action : {
             Action{DJPROBE_ACTION_ADD, 1, 8, DJPROBE_ACTION_TOOK, 0, 0},
             Action{DJPROBE_ACTION_ADD, 0, 4, DJPROBE_ACTION_TOOK, 0, 0},
             Action{DJPROBE_ACTION_ADD, 0, 8, DJPROBE_ACTION_TOOK, 0, 1},
             Action{DJPROBE_ACTION_ADD, 0, 8, DJPROBE_ACTION_TOOK | DJPROBE_ACTION_SIGNED, 0, 0},
             Action{DJPROBE_ACTION_ADD, 0, 8, DJPROBE_ACTION_TOOK | DJPROBE_ACTION_TASK, 0, 0},
             Action{DJPROBE_ACTION_ADD, 0, 8, DJPROBE_ACTION_TOOK | DJPROBE_ACTION_MEMORY, 0, 0},
             Action{DJPROBE_ACTION_COUNT, 0, 0, DJPROBE_ACTION_TOOK, 0, 0},
             Action{DJPROBE_ACTION_TIME, 0, 8, 0, 0, 0},
             Action{DJPROBE_ACTION_TIME, 0, 0, DJPROBE_ACTION_TASK, 0, 0},
             Action{DJPROBE_ACTION_ELAPSED, 1, 0, 0, 0, 7},
         })
        EXPECT_EQ(wrong({elapsed, action}), 1u) << test::describe({action});
}

}  // namespace
}  // namespace djprobe::x86
