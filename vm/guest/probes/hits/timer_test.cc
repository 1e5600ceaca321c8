// SPDX-License-Identifier: GPL-2.0
// The actions TIME and ELAPSED: each call makes a pair, by all means, and what makes none is
// counted. Which maps they take. The clock is not looked at here: see vm/tests/latency.test.
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <unistd.h>

#include <memory>
#include <numeric>

#include "../harness/observer.h"

namespace djprobe::vm {
namespace {

using TimerList = std::vector<djprobe_action>;
using TimerCounters = std::vector<uint64_t>;

constexpr uint32_t kTimerCounters = 80;
constexpr uint64_t kTakesNoPart = ~uint64_t{0};
/// No other task in the guest calls it, and it has returns of its own only.
constexpr const char* kTimedFunction = "__x64_sys_getpgid";
enum TimerCounter : uint32_t {
    kBegins = 0,
    kAgain = 1,
    kMissedBegins = 2,
    kUnbegun = 3,
    kMissedEnds = 4,
    kSum = 5,
    kSlots = 6
};

djprobe_action timed(int operation, uint32_t counter, uint64_t value = 0) {
    return {static_cast<uint8_t>(operation), 0, 0, 0, counter * 8, value};
}
djprobe_action of_elapsed(int operation, uint32_t counter) {
    return {static_cast<uint8_t>(operation), 0, 8, DJPROBE_ACTION_TOOK, counter * 8, 0};
}
const TimerList kBegin = {timed(DJPROBE_ACTION_TIME, kBegins)};
const TimerList kEnd = {timed(DJPROBE_ACTION_ELAPSED, kUnbegun, uint64_t{1} << 32),
                        of_elapsed(DJPROBE_ACTION_ADD, kSum),
                        of_elapsed(DJPROBE_ACTION_LOG2, kSlots)};

class Timer : public ObserverTest {
  protected:
    static constexpr uint32_t kTasks = 1u << 22;

    Timer() {
        map_ = Fd(bpf_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, "counters", sizeof(uint32_t),
                                 kTimerCounters * 8, 1, nullptr));
        times_ = Fd(bpf_map_create(BPF_MAP_TYPE_ARRAY, "times", sizeof(uint32_t), 8,
                                   DJPROBE_TIMES_HEAD + kTasks, nullptr));
        set(0, kTasks - 1);
        set(DJPROBE_TIMES_HEAD, kTakesNoPart);
    }
    void TearDown() override {}

    void set(uint32_t key, uint64_t value) const {
        EXPECT_EQ(bpf_map_update_elem(times_.get(), &key, &value, 0), 0);
    }
    static uint32_t own_key() {
        const auto task = static_cast<uint32_t>(gettid());
        return DJPROBE_TIMES_HEAD + DJPROBE_TIMES_INDEX(task, kTasks - 1);
    }
    ManyAnswer attach(const TimerList& list, uint32_t site_flags, djprobe_mode mode, int times) {
        std::vector<djprobe_site> sites(1);
        sites[0].symbol = reinterpret_cast<uintptr_t>(kTimedFunction);
        sites[0].flags = site_flags;
        return device_.attach_many(sites, map_.get(), mode, DJPROBE_ATTACH_COUNT, list, times);
    }
    Probe must_attach(const TimerList& list, uint32_t site_flags = 0,
                      djprobe_mode mode = DJPROBE_MODE_AUTO) {
        ManyAnswer answer = attach(list, site_flags, mode, times_.get());
        EXPECT_EQ(answer.error, 0) << describe(djprobe_reason(answer.request.reason));
        return std::move(answer.probes);
    }
    void expect_refused(int times, int error, djprobe_reason reason) {
        const ManyAnswer answer = attach(kBegin, 0, DJPROBE_MODE_AUTO, times);
        EXPECT_EQ(answer.error, error);
        EXPECT_EQ(describe(djprobe_reason(answer.request.reason)), describe(reason));
    }
    /// Summed, and forgotten.
    TimerCounters take() const {
        const uint32_t key = 0;
        TimerCounters all(static_cast<size_t>(libbpf_num_possible_cpus()) * kTimerCounters),
            sum(kTimerCounters);
        EXPECT_EQ(bpf_map_lookup_elem(map_.get(), &key, all.data()), 0);
        for (size_t i = 0; i < all.size(); ++i)
            sum[i % kTimerCounters] += all[i];
        all.assign(all.size(), 0);
        EXPECT_EQ(bpf_map_update_elem(map_.get(), &key, all.data(), 0), 0);
        return sum;
    }
    static uint64_t pairs(const TimerCounters& counters) {
        return std::accumulate(counters.begin() + kSlots, counters.end(), uint64_t{0});
    }
    /// The five that count no pairs.
    static TimerCounters unpaired(const TimerCounters& counters) {
        return {counters.begin(), counters.begin() + kSum};
    }

    Fd map_, times_;
};

TEST_F(Timer, EachCallIsAPairByAllMeans) {
    for (const bool shared : {false, true})
        for (const djprobe_mode mode : kBothModes) {
            const Probe begin = must_attach(kBegin, 0, mode);
            const Probe end = must_attach(kEnd, DJPROBE_ATTACH_RETURN, mode);
            Probe program;
            if (shared) program = device_.must_attach(at(kTimedFunction, 0, mode));
            expect_mechanism(begin, mode);
            expect_mechanism(end, mode);
            EXPECT_EQ(call_getpgid(5'000, 4), 0u);
            const TimerCounters counters = take();
            EXPECT_EQ(pairs(counters), 20'000u);
            EXPECT_EQ(unpaired(counters), (TimerCounters{20'000, 0, 0, 0, 0}));
            EXPECT_GT(counters[kSum], 20'000u);
        }
}

TEST_F(Timer, WhatMakesNoPairIsCounted) {
    for (const djprobe_mode mode : kBothModes) {
        {
            const Probe end = must_attach(kEnd, DJPROBE_ATTACH_RETURN, mode);
            EXPECT_EQ(getpgid(0), getpgrp());
            EXPECT_EQ(unpaired(take()), (TimerCounters{0, 0, 0, 1, 0}));
        }
        const Probe begin = must_attach(kBegin, 0, mode);
        for (int i = 0; i < 3; ++i)
            EXPECT_EQ(getpgid(0), getpgrp());
        EXPECT_EQ(unpaired(take()), (TimerCounters{1, 2, 0, 0, 0}));
        const Probe end = must_attach(kEnd, DJPROBE_ATTACH_RETURN, mode);
        EXPECT_EQ(getpgid(0), getpgrp());
        const TimerCounters counters = take();
        EXPECT_EQ(unpaired(counters), (TimerCounters{0, 1, 0, 0, 0}));
        EXPECT_EQ(pairs(counters), 1u);
    }
}

TEST_F(Timer, ATaskMayTakeNoPart) {
    for (const djprobe_mode mode : kBothModes) {
        const Probe begin = must_attach(kBegin, 0, mode);
        const Probe end = must_attach(kEnd, DJPROBE_ATTACH_RETURN, mode);
        set(own_key(), kTakesNoPart);
        EXPECT_EQ(getpgid(0), getpgrp());
        set(own_key(), 0);
        set(0, 0);
        EXPECT_EQ(getpgid(0), getpgrp());
        set(0, static_cast<uint32_t>(gettid()) - 1);
        EXPECT_EQ(getpgid(0), getpgrp());
        const TimerCounters none = take();
        EXPECT_EQ(std::accumulate(none.begin(), none.end(), uint64_t{0}), 0u);
        set(0, static_cast<uint32_t>(gettid()));
        EXPECT_EQ(getpgid(0), getpgrp());
        EXPECT_EQ(pairs(take()), 1u);
        set(0, kTasks - 1);
    }
}

TEST_F(Timer, ATaskAboveTheTableIsMissed) {
    times_ = Fd(bpf_map_create(BPF_MAP_TYPE_ARRAY, "times", sizeof(uint32_t), 8,
                               DJPROBE_TIMES_HEAD + 1, nullptr));
    for (const djprobe_mode mode : kBothModes) {
        set(0, 1);
        const Probe begin = must_attach(kBegin, 0, mode);
        const Probe end = must_attach(kEnd, DJPROBE_ATTACH_RETURN, mode);
        EXPECT_EQ(getpgid(0), getpgrp());
        const TimerCounters counters = take();
        EXPECT_EQ(pairs(counters), 0u);
        EXPECT_EQ(unpaired(counters), (TimerCounters{0, 0, 1, 0, 1}));
        set(0, 0);
        EXPECT_EQ(getpgid(0), getpgrp());
        EXPECT_EQ(unpaired(take()), TimerCounters(kSum));
    }
}

// Of the switch the lower half counts; above the table it lets tasks share an idle task's time.
TEST_F(Timer, AnOddSwitchIsReadTheSameByAllMeans) {
    times_ = Fd(bpf_map_create(BPF_MAP_TYPE_ARRAY, "times", sizeof(uint32_t), 8,
                               DJPROBE_TIMES_HEAD + 1, nullptr));
    set(DJPROBE_TIMES_HEAD, kTakesNoPart);
    for (const djprobe_mode mode : kBothModes) {
        const Probe begin = must_attach(kBegin, 0, mode);
        const Probe end = must_attach(kEnd, DJPROBE_ATTACH_RETURN, mode);
        set(0, uint64_t{1} << 32);
        EXPECT_EQ(getpgid(0), getpgrp());
        EXPECT_EQ(take(), TimerCounters(kTimerCounters));
        set(0, UINT32_MAX);
        EXPECT_EQ(getpgid(0), getpgrp());
        const TimerCounters counters = take();
        EXPECT_EQ(pairs(counters), 1u);
        EXPECT_EQ(unpaired(counters), (TimerCounters{1, 0, 0, 0, 0}));
    }
}

TEST_F(Timer, TheTimesAreAnArrayOfTheRightSize) {
    const auto map = [](bpf_map_type type, uint32_t value, uint32_t entries, uint32_t flags = 0) {
        LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = flags);
        return Fd(bpf_map_create(type, "times", sizeof(uint32_t), value, entries, &options));
    };
    constexpr uint32_t kHead = DJPROBE_TIMES_HEAD;
    const auto refused = [&](const Fd& times, int error, djprobe_reason reason) {
        expect_refused(times.get(), error, reason);
    };
    expect_refused(-1, -EBADF, DJPROBE_REASON_NO_MAP);
    expect_refused(device_.fd(), -EBADF, DJPROBE_REASON_NO_MAP);
    refused(map(BPF_MAP_TYPE_PERCPU_ARRAY, 8, kHead + 64), -EOPNOTSUPP, DJPROBE_REASON_MAP_KIND);
    refused(map(BPF_MAP_TYPE_HASH, 8, kHead + 64), -EOPNOTSUPP, DJPROBE_REASON_MAP_KIND);
    refused(map(BPF_MAP_TYPE_ARRAY, 8, kHead + 64, BPF_F_RDONLY_PROG), -EOPNOTSUPP,
            DJPROBE_REASON_MAP_KIND);
    for (const uint32_t entries : {1u, kHead, kHead + 63, kHead + 65})
        refused(map(BPF_MAP_TYPE_ARRAY, 8, entries), -ERANGE, DJPROBE_REASON_NO_COUNTER);
    for (const uint32_t value : {4u, 16u})
        refused(map(BPF_MAP_TYPE_ARRAY, value, kHead + 64), -ERANGE, DJPROBE_REASON_NO_COUNTER);
    // A list without a timer has no use for it.
    const TimerList count = {timed(DJPROBE_ACTION_COUNT, 0)};
    EXPECT_EQ(attach(count, 0, DJPROBE_MODE_AUTO, times_.get()).error, -EINVAL);
    EXPECT_EQ(attach(count, DJPROBE_ATTACH_RETURN, DJPROBE_MODE_AUTO, 0).error, 0);
    const uint32_t shadow = DJPROBE_ATTACH_RETURN | DJPROBE_ATTACH_SHADOW;
    EXPECT_EQ(attach(kEnd, shadow, DJPROBE_MODE_AUTO, times_.get()).error, -EINVAL);
}

// A time that is stored over a lock lets the kernel follow it as a pointer.
TEST_F(Timer, TheTimesHoldNoLockOfTheKernels) {
    const std::unique_ptr<btf, decltype(&btf__free)> types(btf__new_empty(), btf__free);
    const int number = btf__add_int(types.get(), "unsigned int", 4, 0);
    const int lock = btf__add_struct(types.get(), "bpf_spin_lock", 4);
    ASSERT_EQ(btf__add_field(types.get(), "val", number, 0, 0), 0);
    const int value = btf__add_struct(types.get(), "locked", 8);
    ASSERT_EQ(btf__add_field(types.get(), "lock", lock, 0, 0), 0);
    ASSERT_EQ(btf__add_field(types.get(), "number", number, 32, 0), 0);
    ASSERT_EQ(btf__load_into_kernel(types.get()), 0);
    LIBBPF_OPTS(bpf_map_create_opts, options, .btf_fd = static_cast<uint32_t>(btf__fd(types.get())),
                .btf_key_type_id = static_cast<uint32_t>(number),
                .btf_value_type_id = static_cast<uint32_t>(value));
    const Fd locked(bpf_map_create(BPF_MAP_TYPE_ARRAY, "times", sizeof(uint32_t), 8,
                                   DJPROBE_TIMES_HEAD + 64, &options));
    ASSERT_GE(locked.get(), 0);
    expect_refused(locked.get(), -EOPNOTSUPP, DJPROBE_REASON_MAP_KIND);
}

TEST_F(Timer, ReturnsThatShareACounterTellItsHitsOnce) {
    std::vector<djprobe_site> sites(1);
    sites[0].symbol = reinterpret_cast<uintptr_t>("do_getpgid");
    sites[0].flags = DJPROBE_ATTACH_RETURN;
    const ManyAnswer answer =
        device_.attach_many(sites, map_.get(), DJPROBE_MODE_AUTO, DJPROBE_ATTACH_COUNT);
    ASSERT_EQ(answer.error, 0) << describe(djprobe_reason(answer.request.reason));
    EXPECT_EQ(call_getpgid(1'000, 4), 0u);
    const djprobe_total total = answer.probes.total();
    EXPECT_GT(total.count, 1u) << "this function has one return only";
    EXPECT_EQ(total.hits, 4'000u);
    EXPECT_EQ(take()[0], 4'000u);
}

TEST_F(Timer, ItsMapLivesAsLongAsTheProbe) {
    const Probe begin = must_attach(kBegin);
    const Probe end = must_attach(kEnd, DJPROBE_ATTACH_RETURN);
    times_ = Fd();
    EXPECT_EQ(call_getpgid(1'000, 4), 0u);
    EXPECT_EQ(pairs(take()), 4'000u);
}

}  // namespace
}  // namespace djprobe::vm
