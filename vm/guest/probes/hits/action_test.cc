// SPDX-License-Identifier: GPL-2.0
// Probes that count with a list of actions: the same at int3, by jump and beside others.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <random>
#include <thread>

#include "../harness/kprobe_event.h"
#include "../harness/observer.h"

namespace djprobe::vm {
namespace {

using List = std::vector<djprobe_action>;
using Counters = std::vector<uint64_t>;

constexpr uint32_t kInValue = 100;
constexpr uint8_t kDi = 7;
/// Its only argument is an int. No other task in the guest calls it.
constexpr const char* kSite = "do_getpgid";

djprobe_action make(int operation, uint32_t counter = 0, uint8_t reg = 0, uint8_t width = 0,
                    uint8_t flags = 0, uint64_t value = 0) {
    return {static_cast<uint8_t>(operation), reg, width, flags, counter * 8, value};
}

class Action : public ObserverTest {
  protected:
    Action() {
        map_ = Fd(bpf_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, "counters", sizeof(uint32_t),
                                 kInValue * 8, 2, nullptr));
    }
    void TearDown() override {}

    ManyAnswer attach(const List& list, djprobe_mode mode = DJPROBE_MODE_AUTO,
                      const char* symbol = kSite, uint64_t cookie = 0) {
        std::vector<djprobe_site> sites(1);
        sites[0].symbol = reinterpret_cast<uintptr_t>(symbol);
        sites[0].cookie = cookie;
        return device_.attach_many(sites, map_.get(), mode, DJPROBE_ATTACH_COUNT, list);
    }
    Probe must_attach(const List& list, djprobe_mode mode = DJPROBE_MODE_AUTO,
                      const char* symbol = kSite) {
        ManyAnswer answer = attach(list, mode, symbol);
        EXPECT_EQ(answer.error, 0) << describe(djprobe_reason(answer.request.reason));
        return std::move(answer.probes);
    }
    Counters counters() const {
        const uint32_t key = 0;
        const auto cpus = static_cast<size_t>(libbpf_num_possible_cpus());
        Counters all(cpus * kInValue), sum(kInValue);
        EXPECT_EQ(bpf_map_lookup_elem(map_.get(), &key, all.data()), 0);
        for (size_t i = 0; i < all.size(); ++i)
            sum[i % kInValue] += all[i];
        return sum;
    }
    /// Of all CPUs.
    uint64_t greatest(size_t counter) const {
        const uint32_t key = 0;
        Counters all(static_cast<size_t>(libbpf_num_possible_cpus()) * kInValue);
        EXPECT_EQ(bpf_map_lookup_elem(map_.get(), &key, all.data()), 0);
        uint64_t greatest = 0;
        for (size_t i = counter; i < all.size(); i += kInValue)
            greatest = std::max(greatest, all[i]);
        return greatest;
    }
    void reset() const {
        const uint32_t key = 0;
        const Counters zero(static_cast<size_t>(libbpf_num_possible_cpus()) * kInValue);
        EXPECT_EQ(bpf_map_update_elem(map_.get(), &key, zero.data(), 0), 0);
    }
    void expect_refused(const List& list, int error, djprobe_reason reason, uint64_t index,
                        uint64_t cookie = 0) {
        const ManyAnswer answer = attach(list, DJPROBE_MODE_AUTO, kSite, cookie);
        EXPECT_EQ(answer.error, error);
        EXPECT_EQ(describe(djprobe_reason(answer.request.reason)), describe(reason));
        EXPECT_EQ(answer.request.detail[0], index);
    }

    Fd map_;
};

/// What a list of one IF, ADD and LOG2 of an int argument leaves behind.
Counters meant(const djprobe_action& filter, bool is_signed, const std::vector<int>& calls) {
    Counters counters(kInValue);
    for (const int call : calls) {
        const auto wide = is_signed ? static_cast<uint64_t>(int64_t{call}) : uint32_t(call);
        const bool less = is_signed ? int64_t(wide) < int64_t(filter.value) : wide < filter.value;
        ++counters[0];
        if (!less) continue;
        counters[1] += wide;
        ++counters[2 + static_cast<size_t>(std::bit_width(wide))];
    }
    return counters;
}

TEST_F(Action, DoesTheSameByAllMeans) {
    std::mt19937_64 random(1);
    std::vector<int> calls;
    for (int i = 0; i < 500; ++i)
        calls.push_back(static_cast<int>(random() >> random() % 64) * (i % 5 ? 1 : -1));
    for (const uint64_t limit : {uint64_t{4096}, uint64_t{0x1'0000'0000}, ~uint64_t{99}})
        for (const uint8_t flags : {0, DJPROBE_ACTION_SIGNED})
            for (const bool shared : {false, true})
                for (const djprobe_mode mode : kBothModes) {
                    const auto filter = make(DJPROBE_ACTION_IF_LT, 0, kDi, 4, flags, limit);
                    reset();
                    const Probe probe = must_attach({make(DJPROBE_ACTION_COUNT), filter,
                                                     make(DJPROBE_ACTION_ADD, 1, kDi, 4, flags),
                                                     make(DJPROBE_ACTION_LOG2, 2, kDi, 4, flags)},
                                                    mode);
                    Probe program;
                    if (shared) program = device_.must_attach(at(kSite, 0, mode));
                    expect_mechanism(probe, mode);
                    for (const int call : calls)
                        getpgid(call);
                    EXPECT_EQ(counters(), meant(filter, flags != 0, calls));
                    EXPECT_EQ(probe.hits(), calls.size());
                }
}

/// What the actions read of this thread.
uint64_t of_this_task(uint8_t field) {
    char name[16] = {};
    prctl(PR_GET_NAME, name);
    uint64_t halves[2];
    std::memcpy(halves, name, sizeof name);
    switch (field) {
        case DJPROBE_TASK_TGID:
            return static_cast<uint64_t>(getpid());
        case DJPROBE_TASK_PID:
            return static_cast<uint64_t>(gettid());
        default:
            return halves[field - DJPROBE_TASK_COMM];
    }
}

djprobe_action if_task(uint8_t field, uint64_t value, int operation = DJPROBE_ACTION_IF_EQ) {
    const auto width = static_cast<uint8_t>(djprobe_task_field_size(field));
    return make(operation, 0, field, width, DJPROBE_ACTION_TASK, value);
}

/// Three times, with names that differ in one half or the other: 10 calls of another thread, 7 of
/// this one. Once a child calls.
void call_under_names() {
    constexpr const char* kName = "first of names";
    for (const char* name : {kName, "first of nameS", "First of names"}) {
        std::thread([&] {
            prctl(PR_SET_NAME, name);
            call_getpgid(10);
        }).join();
        prctl(PR_SET_NAME, name);
        call_getpgid(7);
    }
    prctl(PR_SET_NAME, kName);
    if (const pid_t child = fork()) {
        waitpid(child, nullptr, 0);
    } else {
        call_getpgid(1);
        _exit(0);
    }
}

TEST_F(Action, OfTheTaskCountsItsHitsOnly) {
    prctl(PR_SET_NAME, "first of names");
    List task, process;
    for (uint8_t field = 0; field < DJPROBE_TASK_FIELDS; ++field)
        task.push_back(if_task(field, of_this_task(field)));
    task.push_back(make(DJPROBE_ACTION_COUNT));
    process = {task[0], make(DJPROBE_ACTION_COUNT),
               if_task(DJPROBE_TASK_PID, of_this_task(DJPROBE_TASK_PID), DJPROBE_ACTION_IF_NE),
               make(DJPROBE_ACTION_COUNT, 1)};
    for (const bool shared : {false, true})
        for (const djprobe_mode mode : kBothModes)
            for (const bool whole : {false, true}) {
                reset();
                const Probe probe = must_attach(whole ? process : task, mode);
                Probe with;
                if (shared) with = device_.must_attach(at(kSite, 0, mode));
                expect_mechanism(probe, mode);
                call_under_names();
                EXPECT_EQ(counters()[0], whole ? 3 * 17u : 7u);
                EXPECT_EQ(counters()[1], whole ? 3 * 10u : 0u);
            }
}

// Whichever of the two was at the site first.
TEST_F(Action, CountsWhereTheProgramAtTheSameSiteIsMissed) {
    constexpr uint64_t kCalls = 1000;
    constexpr const char* kInner = "htab_map_update_elem";
    const auto ours = static_cast<uint64_t>(getpid());
    const List list = {make(DJPROBE_ACTION_COUNT), if_task(DJPROBE_TASK_TGID, ours),
                       make(DJPROBE_ACTION_ADD, 1, DJPROBE_TASK_TGID, 4, DJPROBE_ACTION_TASK),
                       make(DJPROBE_ACTION_LOG2, 2, DJPROBE_TASK_TGID, 4, DJPROBE_ACTION_TASK)};
    const Object nest("nest");
    Request outer = at(kGetpgid);
    outer.prog_fd = nest.program("nest");
    for (const bool program_first : {true, false})
        for (const djprobe_mode mode : kBothModes) {
            Probe program;
            if (program_first) program = device_.must_attach(at(kInner, 0, mode));
            reset();
            const Probe actions = must_attach(list, mode, kInner);
            if (!program_first) program = device_.must_attach(at(kInner, 0, mode));
            const Probe hit = device_.must_attach(outer);
            expect_mechanism(actions, mode);
            const djprobe_query before = program.query();
            EXPECT_EQ(call_getpgid(kCalls), 0u);
            const djprobe_query after = program.query();
            EXPECT_EQ(hit.hits(), kCalls);
            // The nested program hits it once a call; no other task does in that time.
            EXPECT_EQ(after.hits, before.hits);
            EXPECT_EQ(after.missed[DJPROBE_MISS_RECURSION] - before.missed[DJPROBE_MISS_RECURSION],
                      kCalls);
            Counters expected(kInValue);
            expected[0] = kCalls;
            expected[1] = kCalls * ours;
            expected[2 + static_cast<size_t>(std::bit_width(ours))] = kCalls;
            EXPECT_EQ(counters(), expected);
            EXPECT_EQ(missed(actions.query()), 0u);
        }
}

TEST_F(Action, KeepsTheLeastAndTheGreatestByAllMeans) {
    std::mt19937_64 random(2);
    std::vector<int> calls;
    for (int i = 0; i < 200; ++i)
        calls.push_back(static_cast<int>(random() >> (32 + random() % 30)) * (i % 3 ? 1 : -1));
    for (const uint8_t flags : {0, DJPROBE_ACTION_SIGNED})
        for (const bool shared : {false, true})
            for (const djprobe_mode mode : kBothModes) {
                reset();
                const Probe probe = must_attach(
                    {make(DJPROBE_ACTION_MAX, 0, kDi, 4, flags),
                     make(DJPROBE_ACTION_MIN, 2, kDi, 4, flags), make(DJPROBE_ACTION_COUNT, 4)},
                    mode);
                Probe program;
                if (shared) program = device_.must_attach(at(kSite, 0, mode));
                expect_mechanism(probe, mode);
                uint64_t most = 0, least = 0;
                for (const int call : calls) {
                    getpgid(call);
                    const uint64_t key =
                        flags ? static_cast<uint64_t>(int64_t{call}) + (uint64_t{1} << 63)
                              : uint32_t(call);
                    most = std::max(most, key);
                    least = std::max(least, ~key);
                }
                EXPECT_EQ(greatest(0), most);
                EXPECT_EQ(greatest(2), least);
                EXPECT_EQ(counters()[1] + counters()[3], 0u);
                EXPECT_EQ(counters()[4], calls.size());
            }
}

TEST_F(Action, BesideAKprobeOfTheKernelItDoesTheSame) {
    KprobeEvent theirs("theirs");
    ASSERT_EQ(theirs.add(device_.explain(at(kSite)).answer.address), 0);
    ASSERT_EQ(theirs.enable(true), 0);
    const Probe probe = must_attach({make(DJPROBE_ACTION_LOG2, 0, kDi, 4)});
    EXPECT_EQ(probe.settle().reason, unsigned{DJPROBE_REASON_SHARED_KPROBE});
    for (const int call : {0, 1, 2, 3, 1000, -1})
        getpgid(call);
    const Counters seen = counters();
    EXPECT_EQ(seen[0], 1u);
    EXPECT_EQ(seen[1], 1u);
    EXPECT_EQ(seen[2], 2u);
    EXPECT_EQ(seen[10], 1u);
    EXPECT_EQ(seen[32], 1u);
    EXPECT_EQ(probe.hits(), 6u);
}

// A program at the same site sees all registers of the same hit.
TEST_F(Action, EachRegisterIsTheOneThatProgramsSee) {
    constexpr const char* kRead = "__x64_sys_pread64";
    for (const djprobe_mode mode : kBothModes) {
        reset();
        List low, high;
        for (uint8_t reg = 0; reg < DJPROBE_REGS; ++reg)
            (reg < 8 ? low : high).push_back(make(DJPROBE_ACTION_ADD, reg, reg, 8));
        const Probe first = must_attach(low, mode, kRead), second = must_attach(high, mode, kRead);
        const observation seen = by_probe(kRead, 0, mode);
        const Counters added = counters();
        for (size_t reg = 0; reg < DJPROBE_REGS; ++reg)
            EXPECT_EQ(added[reg], seen.regs[kFieldsByNumber[reg]]) << reg;
    }
}

TEST_F(Action, IsExactOnAllCpus) {
    const auto filter = make(DJPROBE_ACTION_IF_EQ, 0, kDi, 4);
    for (const djprobe_mode mode : kBothModes) {
        reset();
        const Probe probe = must_attach({filter, make(DJPROBE_ACTION_LOG2, 0, kDi, 4)}, mode);
        expect_mechanism(probe, mode);
        EXPECT_EQ(call_getpgid(20'000, 4), 0u);
        EXPECT_EQ(counters()[0], 80'000u);
        EXPECT_EQ(probe.hits(), 80'000u);
    }
}

TEST_F(Action, WhatIsNoActionIsRefused) {
    const auto count = make(DJPROBE_ACTION_COUNT);
    constexpr auto kNoAction = DJPROBE_REASON_NO_ACTION;
    expect_refused({make(0)}, -EINVAL, kNoAction, 0);
    expect_refused({count, make(DJPROBE_ACTION_ELAPSED + 1, 0, kDi, 8)}, -EINVAL, kNoAction, 1);
    expect_refused({count, count, make(DJPROBE_ACTION_ADD, 0, 16, 8)}, -EINVAL, kNoAction, 2);
    expect_refused({make(DJPROBE_ACTION_ADD, 0, kDi, 3)}, -EINVAL, kNoAction, 0);
    expect_refused({make(DJPROBE_ACTION_IF_EQ, 1, kDi, 8)}, -EINVAL, kNoAction, 0);
    auto odd = count;
    odd.offset = 4;
    expect_refused({count, odd}, -ERANGE, DJPROBE_REASON_ODD_COUNTER, 1);
    expect_refused({count, make(DJPROBE_ACTION_COUNT, kInValue)}, -ERANGE,
                   DJPROBE_REASON_NO_COUNTER, 1);
    const auto last = make(DJPROBE_ACTION_LOG2, kInValue - DJPROBE_LOG2_SLOTS, kDi, 4);
    expect_refused({count, last}, -ERANGE, DJPROBE_REASON_NO_COUNTER, 1, DJPROBE_COUNTER(0, 8));
    EXPECT_EQ(attach({count, last}).error, 0);
}

TEST_F(Action, AListHasAnEnd) {
    const List one = {make(DJPROBE_ACTION_COUNT)};
    EXPECT_EQ(attach(List(DJPROBE_ACTIONS_MAX + 1, one[0])).error, -EINVAL);
    EXPECT_EQ(attach(List(DJPROBE_ACTIONS_MAX, one[0])).error, 0);
    std::vector<djprobe_site> sites(1);
    sites[0].symbol = reinterpret_cast<uintptr_t>(kSite);
    djprobe_attach_many request = {};
    request.size = sizeof request;
    request.flags = DJPROBE_ATTACH_COUNT;
    request.sites = reinterpret_cast<uint64_t>(sites.data());
    request.count = 1;
    request.prog_fd = map_.get();
    const auto answer = [&] { return call_ioctl(device_.fd(), DJPROBE_IOC_ATTACH_MANY, &request); };
    request.actions = 8;
    EXPECT_EQ(answer(), -EINVAL);
    request.action_count = 1;
    EXPECT_EQ(answer(), -EFAULT);
    request.actions = 0;
    request.action_count = 0;
    request.times_fd = 1;
    EXPECT_EQ(answer(), -EINVAL);
    // As it was published first: nothing behind that is read or written.
    request.size = offsetof(djprobe_attach_many, actions);
    const Probe probe{Fd(answer())};
    EXPECT_TRUE(probe);
    EXPECT_EQ(request.times_fd, 1);
    request.size -= 8;
    EXPECT_EQ(answer(), -EINVAL);
}

TEST_F(Action, OnceNeedsACountThatEndsIt) {
    const auto attach_once = [&](const List& list) {
        std::vector<djprobe_site> sites(1);
        sites[0].symbol = reinterpret_cast<uintptr_t>(kSite);
        return device_
            .attach_many(sites, map_.get(), DJPROBE_MODE_AUTO,
                         DJPROBE_ATTACH_COUNT | DJPROBE_ATTACH_ONCE, list)
            .error;
    };
    const auto add = make(DJPROBE_ACTION_ADD, 0, kDi, 4);
    EXPECT_EQ(attach_once({add}), -EINVAL);
    EXPECT_EQ(attach_once({add, make(DJPROBE_ACTION_COUNT, 1)}), 0);
    EXPECT_EQ(attach_once({make(DJPROBE_ACTION_LOG2, 1, kDi, 4)}), 0);
}

}  // namespace
}  // namespace djprobe::vm
