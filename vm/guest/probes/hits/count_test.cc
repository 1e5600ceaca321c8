// SPDX-License-Identifier: GPL-2.0
// Probes that only count: exact from anywhere, in counters of a map that anyone reads.
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <memory>
#include <numeric>
#include <thread>

#include "../harness/fixture.h"
#include "../harness/kprobe_event.h"

namespace djprobe::vm {
namespace {

constexpr uint64_t kCalls = 1000;
constexpr uint32_t kValues = 4, kCountersInValue = 8;

Fd make_map(bpf_map_type type, uint32_t value_size, uint32_t values, uint32_t flags = 0) {
    LIBBPF_OPTS(bpf_map_create_opts, options);
    options.map_flags = flags;
    return Fd(bpf_map_create(type, "counters", sizeof(uint32_t), value_size, values, &options));
}

class Count : public ProbeTest {
  protected:
    Request counting(const std::string& symbol, uint32_t counter = 0,
                     djprobe_mode mode = DJPROBE_MODE_AUTO) const {
        Request request = at(symbol, 0, mode);
        request.flags = DJPROBE_ATTACH_COUNT;
        request.prog_fd = map_.get();
        request.cookie =
            DJPROBE_COUNTER(counter / kCountersInValue, counter % kCountersInValue * 8);
        return request;
    }
    /// As userspace reads any map of this type.
    uint64_t in_map(uint32_t counter = 0) const {
        const uint32_t key = counter / kCountersInValue;
        const auto cpus = static_cast<size_t>(libbpf_num_possible_cpus());
        std::vector<uint64_t> values(cpus * kCountersInValue);
        EXPECT_EQ(bpf_map_lookup_elem(map_.get(), &key, values.data()), 0);
        uint64_t sum = 0;
        for (size_t cpu = 0; cpu < cpus; ++cpu)
            sum += values[cpu * kCountersInValue + counter % kCountersInValue];
        return sum;
    }
    void expect_refused(const Request& request, int error, djprobe_reason reason) const {
        const Answer answer = device_.attach(request);
        EXPECT_EQ(answer.error, error);
        EXPECT_EQ(describe(answer.reason), describe(reason));
    }

    Fd map_ = make_map(BPF_MAP_TYPE_PERCPU_ARRAY, kCountersInValue * 8, kValues);
};

TEST_F(Count, IsExactOnAllCpusInBothModes) {
    uint64_t calls = 0;
    for (const djprobe_mode mode : kBothModes) {
        const Probe probe = device_.must_attach(counting(kGetpgid, 0, mode));
        expect_mechanism(probe, mode);
        EXPECT_EQ(call_getpgid(20'000, 4), 0u);
        calls += 80'000;
        EXPECT_EQ(in_map(), calls);
        const djprobe_query query = probe.query();
        EXPECT_EQ(query.hits, calls);
        EXPECT_EQ(missed(query), 0u);
        EXPECT_EQ(query.flags, unsigned{DJPROBE_ATTACH_COUNT});
        EXPECT_EQ(probe.total().hits, calls);
    }
}

// The jump comes at some moment of the load, and goes again.
TEST_F(Count, NoHitIsLostOrCountedTwiceWhenTheJumpComesAndGoes) {
    const Probe probe = device_.must_attach(counting(kGetpgid));
    Load load(4);
    int jumps = 0;
    for (int round = 0; round < 10; ++round) {
        jumps += probe.settle().mechanism == DJPROBE_MECHANISM_JUMP;
        // It takes the jump away.
        const Probe other = device_.must_attach(at(kGetpgid, 0, DJPROBE_MODE_INT3));
        usleep(10'000);
    }
    load.stop();
    EXPECT_EQ(load.wrong(), 0u);
    EXPECT_EQ(jumps, 10);
    EXPECT_EQ(in_map(), load.calls());
}

TEST_F(Count, TasksThatMigrateAreCountedOnce) {
    const Probe probe = device_.must_attach(counting(kGetpgid));
    expect_mechanism(probe, DJPROBE_MODE_AUTO);
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread)
        threads.emplace_back([cpus, thread] {
            for (int i = 0; i < 200; ++i) {
                cpu_set_t set;
                CPU_ZERO(&set);
                CPU_SET((i + thread) % cpus, &set);
                sched_setaffinity(0, sizeof set, &set);
                call_getpgid(50);
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(in_map(), 4u * 200 * 50);
}

TEST_F(Count, EachOfSeveralProbesAtASiteCounts) {
    const Probe program = device_.must_attach(at(kGetpgid));
    std::vector<Probe> probes;
    for (uint32_t counter = 0; counter < 3; ++counter)
        probes.push_back(device_.must_attach(counting(kGetpgid, counter)));
    expect_mechanism(probes[0], DJPROBE_MODE_AUTO);
    EXPECT_EQ(call_getpgid(kCalls), 0u);
    EXPECT_EQ(probes[1].enable(false), 0);
    EXPECT_EQ(call_getpgid(kCalls), 0u);
    EXPECT_EQ(probes[1].enable(true), 0);
    probes[0].settle();
    EXPECT_EQ(call_getpgid(kCalls), 0u);
    EXPECT_EQ(in_map(0), 3 * kCalls);
    EXPECT_EQ(in_map(1), 2 * kCalls);
    EXPECT_EQ(in_map(2), 3 * kCalls);
    EXPECT_EQ(program.hits(), 3 * kCalls);
    EXPECT_EQ(counted(), 3 * kCalls);
}

TEST_F(Count, OneRequestHasManyCounters) {
    constexpr const char* kSymbols[] = {kGetpgid, "__x64_sys_pread64", "do_getpgid"};
    std::vector<djprobe_site> sites(std::size(kSymbols));
    for (uint32_t i = 0; i < sites.size(); ++i) {
        sites[i].symbol = reinterpret_cast<uintptr_t>(kSymbols[i]);
        sites[i].cookie = DJPROBE_COUNTER(i, i * 8);
    }
    const ManyAnswer answer =
        device_.attach_many(sites, map_.get(), DJPROBE_MODE_AUTO, DJPROBE_ATTACH_COUNT);
    ASSERT_EQ(answer.error, 0);
    answer.probes.settle();
    EXPECT_EQ(call_getpgid(kCalls), 0u);
    for (const uint32_t i : {0u, 2u}) {
        EXPECT_EQ(in_map(i * kCountersInValue + i), kCalls) << kSymbols[i];
        EXPECT_EQ(answer.probes.query(i).hits, kCalls);
        EXPECT_EQ(answer.probes.query(i).cookie, DJPROBE_COUNTER(i, i * 8));
    }
}

// A program is missed there: a counter is not.
TEST_F(Count, HitsFromWithinAHandlerCount) {
    const Object nest("nest");
    for (const djprobe_mode outer_mode : kBothModes)
        for (const djprobe_mode inner_mode : kBothModes)
            for (const char* symbol : {"htab_map_update_elem", "__bpf_ringbuf_reserve"}) {
                SCOPED_TRACE(symbol);
                Request request = at(kGetpgid, 0, outer_mode);
                request.prog_fd = nest.program("nest");
                const Probe outer = device_.must_attach(request);
                const Probe inner = device_.must_attach(counting(symbol, 0, inner_mode));
                expect_mechanism(outer, outer_mode);
                expect_mechanism(inner, inner_mode);
                const uint64_t before = in_map();
                EXPECT_EQ(call_getpgid(kCalls), 0u);
                EXPECT_EQ(outer.hits(), kCalls);
                // No other task came by in that time.
                EXPECT_EQ(in_map() - before, kCalls);
                EXPECT_EQ(missed(inner.query()), 0u);
            }
}

// Where a program and a counter share the site, the program's hits and misses are the truth.
void expect_truth(const djprobe_query& program, const djprobe_query& counter) {
    EXPECT_EQ(counter.hits, program.hits + missed(program));
    EXPECT_EQ(missed(counter), 0u);
}

TEST_F(Count, HitsFromAnNmiDuringAHandlerCount) {
    const Object slow("slow");
    for (const djprobe_mode mode : kBothModes) {
        Request request = at(kGetpgid);
        request.prog_fd = slow.program("slow");
        const Probe outer = device_.must_attach(request);
        Probe program = device_.must_attach(at("show_regs", 0, mode));
        Probe inner = device_.must_attach(counting("show_regs", mode, mode));
        expect_mechanism(inner, mode);
        // The kernel asks all other CPUs by NMI where they are, unless they are idle.
        const auto backtrace_until = [](auto&& done) {
            Load load(1);
            for (int i = 0; i < 20 && !done(); ++i) {
                std::ofstream("/proc/sysrq-trigger") << 'l';
                usleep(20'000);
            }
        };
        backtrace_until([&] { return missed(program.query()) != 0; });
        EXPECT_GE(program.query().missed[DJPROBE_MISS_NMI], 1u);
        expect_truth(program.query(), inner.query());
        // Alone its detour counts by itself.
        program.detach();
        expect_mechanism(inner, mode);
        const uint64_t before = in_map(mode);
        backtrace_until([&] { return in_map(mode) > before; });
        EXPECT_GT(in_map(mode), before);
    }
}

// All CPUs come by all the time, in all contexts, also from within the program at the same site.
TEST_F(Count, HotFunctionsLoseNoCount) {
    const Object nest("nest");
    size_t hot = 0;
    for (const djprobe_mode mode : kBothModes)
        for (const char* symbol : {"__rcu_read_lock", "_raw_spin_lock", "ktime_get",
                                   "__bpf_ringbuf_reserve", "try_to_wake_up"}) {
            SCOPED_TRACE(symbol);
            Request request = at(symbol, 0, mode);
            request.prog_fd = nest.program("nest_without_hash");
            const auto counter = static_cast<uint32_t>(hot);
            Answer first = device_.attach(counting(symbol, counter, mode));
            if (first.error) continue;
            // It comes later and goes earlier: nothing that it sees is not counted.
            const uint64_t before = in_map(counter);
            const Probe program = device_.must_attach(request);
            first.probe.settle();
            Load load(4);
            usleep(300'000);
            load.stop();
            EXPECT_EQ(load.wrong(), 0u);
            EXPECT_EQ(program.enable(false), 0);
            usleep(50'000);
            const djprobe_query truth = program.query();
            const uint64_t counted = in_map(counter) - before;
            EXPECT_GE(counted, truth.hits + missed(truth));
            EXPECT_EQ(missed(first.probe.query()), 0u);
            ++hot;
        }
    EXPECT_GT(hot, 5u);
}

TEST_F(Count, OnceEndsSoonAfterTheFirstHit) {
    for (const djprobe_mode mode : kBothModes) {
        Request request = counting(kGetpgid, mode, mode);
        const Probe always = device_.must_attach(request);
        request.flags |= DJPROBE_ATTACH_ONCE;
        request.cookie = DJPROBE_COUNTER(0, 16 + 8 * mode);
        const Probe once = device_.must_attach(request);
        expect_mechanism(once, mode);
        usleep(500'000);
        EXPECT_EQ(once.query().flags, DJPROBE_ATTACH_COUNT | DJPROBE_ATTACH_ONCE);
        EXPECT_NE(once.query().state, DJPROBE_STATE_DISARMED) << "no hit yet";
        EXPECT_EQ(call_getpgid(1), 0u);
        for (int i = 0; i < 100 && once.query().state != DJPROBE_STATE_DISARMED; ++i)
            usleep(50'000);
        EXPECT_EQ(describe(djprobe_reason(once.query().reason)), describe(DJPROBE_REASON_DISABLED));
        EXPECT_EQ(call_getpgid(kCalls), 0u);
        EXPECT_EQ(once.hits(), 1u);
        EXPECT_EQ(always.hits(), kCalls + 1);
    }
}

TEST_F(Count, AKprobeOfTheKernelMayBeThereFirst) {
    KprobeEvent theirs("theirs");
    ASSERT_EQ(theirs.add(device_.explain(at(kGetpgid)).answer.address), 0);
    ASSERT_EQ(theirs.enable(true), 0);
    const Probe probe = device_.must_attach(counting(kGetpgid));
    EXPECT_EQ(probe.settle().reason, unsigned{DJPROBE_REASON_SHARED_KPROBE});
    EXPECT_EQ(call_getpgid(kCalls), 0u);
    EXPECT_EQ(in_map(), kCalls);
    EXPECT_EQ(theirs.counts().hits, kCalls);
}

TEST_F(Count, TheModuleKeepsAMapThatIsClosed) {
    const Probe probe = device_.must_attach(counting(kGetpgid));
    map_.reset();
    EXPECT_EQ(call_getpgid(kCalls), 0u);
    EXPECT_EQ(probe.settle().hits, kCalls);
    EXPECT_EQ(call_getpgid(kCalls), 0u);
    EXPECT_EQ(probe.hits(), 2 * kCalls);
}

TEST_F(Count, TheLastCounterOfAValueIsOne) {
    for (const uint32_t counter : {kCountersInValue - 1, kValues * kCountersInValue - 1}) {
        const Probe probe = device_.must_attach(counting(kGetpgid, counter));
        EXPECT_EQ(call_getpgid(kCalls), 0u);
        EXPECT_EQ(in_map(counter), kCalls);
    }
}

TEST_F(Count, WhatIsNoCounterIsRefused) {
    Request request = counting(kGetpgid);
    for (const uint64_t cookie :
         {DJPROBE_COUNTER(kValues, 0), DJPROBE_COUNTER(~0u, 0),
          DJPROBE_COUNTER(0, kCountersInValue * 8), DJPROBE_COUNTER(0, 0xffff'fff8)}) {
        request.cookie = cookie;
        expect_refused(request, -ERANGE, DJPROBE_REASON_NO_COUNTER);
    }
    for (const uint32_t offset : {1u, 4u, kCountersInValue * 8 - 4}) {
        request.cookie = DJPROBE_COUNTER(0, offset);
        expect_refused(request, -ERANGE, DJPROBE_REASON_ODD_COUNTER);
    }
    // Room for seven bytes, and for eight and a half.
    for (const uint32_t size : {7u, 12u}) {
        const Fd odd = make_map(BPF_MAP_TYPE_PERCPU_ARRAY, size, 1);
        request.prog_fd = odd.get();
        request.cookie = DJPROBE_COUNTER(0, size / 8 * 8);
        expect_refused(request, -ERANGE, DJPROBE_REASON_NO_COUNTER);
    }
}

TEST_F(Count, OtherMapsAreRefused) {
    Request request = counting(kGetpgid);
    for (const bpf_map_type type :
         {BPF_MAP_TYPE_ARRAY, BPF_MAP_TYPE_HASH, BPF_MAP_TYPE_PERCPU_HASH}) {
        const Fd map = make_map(type, 8, 4);
        ASSERT_TRUE(map);
        request.prog_fd = map.get();
        expect_refused(request, -EOPNOTSUPP, DJPROBE_REASON_MAP_KIND);
    }
    const Fd constant = make_map(BPF_MAP_TYPE_PERCPU_ARRAY, 8, 1, BPF_F_RDONLY_PROG);
    ASSERT_TRUE(constant);
    request.prog_fd = constant.get();
    expect_refused(request, -EOPNOTSUPP, DJPROBE_REASON_MAP_KIND);
    for (const int fd : {counter(), device_.fd(), -1, 1 << 20}) {
        request.prog_fd = fd;
        expect_refused(request, -EBADF, DJPROBE_REASON_NO_MAP);
    }
    // And a map is no program.
    Request program = at(kGetpgid);
    program.prog_fd = map_.get();
    expect_refused(program, -EBADF, DJPROBE_REASON_PROG_FD);
}

/// A map whose values hold a pointer to a task, for which only the verifier knows the rules.
Fd make_map_of_tasks() {
    const std::unique_ptr<btf, decltype(&btf__free)> types(btf__new_empty(), btf__free);
    const int key = btf__add_int(types.get(), "__u32", 4, 0);
    const int task = btf__add_struct(types.get(), "task_struct", 0);
    const int tagged = btf__add_type_tag(types.get(), "kptr_untrusted", task);
    const int pointer = btf__add_ptr(types.get(), tagged);
    const int value = btf__add_struct(types.get(), "value", 8);
    btf__add_field(types.get(), "task", pointer, 0, 0);
    if (btf__load_into_kernel(types.get())) return Fd();
    LIBBPF_OPTS(bpf_map_create_opts, options);
    options.btf_fd = static_cast<uint32_t>(btf__fd(types.get()));
    options.btf_key_type_id = static_cast<uint32_t>(key);
    options.btf_value_type_id = static_cast<uint32_t>(value);
    return Fd(bpf_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, "tasks", 4, 8, 1, &options));
}

TEST_F(Count, MapsWithPointersOfTheKernelAreRefused) {
    // An older kernel takes the pointer for a plain number.
    if (!address_of("btf_record_free")) GTEST_SKIP() << "this kernel knows no such pointers there";
    const Fd map = make_map_of_tasks();
    ASSERT_TRUE(map);
    Request request = counting(kGetpgid);
    request.prog_fd = map.get();
    expect_refused(request, -EOPNOTSUPP, DJPROBE_REASON_MAP_KIND);
}

TEST_F(Count, GoesWithNoOtherFlag) {
    Request request = counting(kGetpgid);
    constexpr uint32_t kReturn = DJPROBE_ATTACH_RETURN, kShadow = DJPROBE_ATTACH_SHADOW;
    for (const uint32_t other : {kReturn, kShadow, kReturn | kShadow, uint32_t{16}}) {
        request.flags = DJPROBE_ATTACH_COUNT | other;
        EXPECT_EQ(device_.attach(request).error, -EINVAL);
        std::vector<djprobe_site> sites(1);
        sites[0].symbol = reinterpret_cast<uintptr_t>(kGetpgid);
        sites[0].flags = other;
        // A site of many may be the returns of its function.
        EXPECT_EQ(
            device_.attach_many(sites, map_.get(), DJPROBE_MODE_AUTO, DJPROBE_ATTACH_COUNT).error,
            other == kReturn ? 0 : -EINVAL);
    }
}

}  // namespace
}  // namespace djprobe::vm
