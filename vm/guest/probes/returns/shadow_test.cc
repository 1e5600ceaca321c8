// SPDX-License-Identifier: GPL-2.0
// Returns seen by replaced return addresses: each call is one hit or one miss, and no
// task notices.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <list>
#include <map>
#include <system_error>
#include <thread>

#include "../../hostile/ways_out.h"
#include "../harness/crowd.h"
#include "../harness/hostile_caller.h"
#include "../harness/observer.h"
#include "../harness/random_functions.h"
#include "../harness/setting.h"

namespace djprobe::vm {
namespace {

/// What probes begin with meanwhile.
struct Instances : Setting {
    explicit Instances(unsigned count)
        : Setting("/sys/module/djprobe/parameters/instances", count) {}
};

constexpr const char* kCallee = "do_getpgid";
constexpr uint32_t kShadow = DJPROBE_ATTACH_RETURN | DJPROBE_ATTACH_SHADOW;

#define COUNT(name) kNumberOf_##name,
enum { kLastBefore = FIRST_WAY_OUT - 1, WAYS_OUT(COUNT) };
#undef COUNT

class Shadow : public ObserverTest {
  protected:
    Request shadow(const std::string& function, djprobe_mode mode = DJPROBE_MODE_AUTO) const {
        Request request = at(function, 0, mode);
        request.flags = kShadow;
        return request;
    }
    static uint64_t no_instance(const Probe& probe) {
        return probe.query().missed[DJPROBE_MISS_NO_INSTANCE];
    }
    static uint64_t seen_or_missed(const Probe& probe) {
        return probe.hits() + missed(probe.query());
    }
    observation chain_of_callee() {
        const Probe probe = device_.must_attach(observed(kCallee, 0, DJPROBE_MODE_AUTO, 3));
        probe.settle();
        forget(3);
        getpgid(0);
        return seen(3);
    }
    void TearDown() override {}
};

TEST_F(Shadow, EveryCallIsOneHit) {
    for (const djprobe_mode mode : kBothModes) {
        const Probe probe = device_.must_attach(shadow(kGetpgid, mode));
        expect_mechanism(probe, mode);
        EXPECT_EQ(call_getpgid(500, 4), 0u);
        EXPECT_EQ(probe.total().hits, 2000u);
        EXPECT_EQ(missed(probe.query()), 0u);
    }
}

TEST_F(Shadow, TheProgramSeesTheCallersSideOfTheReturn) {
    for (const djprobe_mode mode : kBothModes) {
        const Probe entry = device_.must_attach(observed(kGetpgid, 0, mode, 1));
        Request request = observed(kGetpgid, 0, mode, 2);
        request.flags = kShadow;
        const Probe probe = device_.must_attach(request);
        expect_mechanism(probe, mode);
        forget(1);
        forget(2);
        const pid_t group = getpgid(0);
        const observation before = seen(1), after = seen(2);
        EXPECT_EQ(after.hits, 1u);
        EXPECT_EQ(after.cookie, 2u);
        EXPECT_EQ(after.regs[OBSERVE_AX], static_cast<uint64_t>(group));
        EXPECT_EQ(after.func_ip, address_of(kGetpgid));
        EXPECT_EQ(after.regs[OBSERVE_IP], before.stack[1]) << "the true return address";
        EXPECT_EQ(after.regs[OBSERVE_SP], before.regs[OBSERVE_SP] + 8);
        ASSERT_EQ(after.stack_bytes, before.stack_bytes - 8);
        EXPECT_TRUE(std::equal(after.stack, after.stack + after.stack_bytes / 8, before.stack + 1));
        EXPECT_EQ(symbol_at(after.stack[0]), "do_syscall_64");
    }
}

TEST_F(Shadow, StackTracesInACalleeAreTrue) {
    const observation expected = chain_of_callee();
    ASSERT_GT(expected.stack_bytes, 16);
    const Probe outer = device_.must_attach(shadow(kGetpgid));
    const Probe inner = device_.must_attach(shadow(kCallee));
    for (int i = 0; i < 2; ++i) {
        const observation seen = chain_of_callee();
        ASSERT_EQ(seen.stack_bytes, expected.stack_bytes);
        EXPECT_TRUE(std::equal(seen.stack, seen.stack + seen.stack_bytes / 8, expected.stack));
        outer.settle();
        inner.settle();
    }
    EXPECT_EQ(outer.hits(), 2u);
    EXPECT_EQ(inner.hits(), 2u);
}

TEST_F(Shadow, SleepersAreCountedWhenTheyReturnHoweverMany) {
    const Instances few(200);
    const Probe entry = device_.must_attach(at(kSleep));
    const Probe probe = device_.must_attach(shadow(kSleep));
    expect_mechanism(probe, DJPROBE_MODE_AUTO);
    const auto account = [&](unsigned count) {
        const uint64_t entered = entry.hits(), told = seen_or_missed(probe);
        sleep_together(count, 1000);
        // Another task's sleep may have been under way at either moment.
        EXPECT_NEAR(static_cast<double>(seen_or_missed(probe) - told),
                    static_cast<double>(entry.hits() - entered), 4);
    };
    account(1000);
    std::printf("%lu of 1000 missed while the pool grew\n", no_instance(probe));
    const uint64_t missed_at_first = no_instance(probe);
    account(200);
    EXPECT_EQ(no_instance(probe), missed_at_first);
}

TEST_F(Shadow, TenThousandTasksInsideAtOnceAreAllCounted) {
    constexpr unsigned kTasks = 10000;
    const Probe entry = device_.must_attach(at(kSleep));
    const Probe probe = device_.must_attach(shadow(kSleep));
    expect_mechanism(probe, DJPROBE_MODE_AUTO);
    const uint64_t entered = entry.hits(), told = seen_or_missed(probe);
    Crowd crowd(kTasks);
    ASSERT_TRUE(crowd.gather([&] { return entry.hits() - entered; }));
    EXPECT_LE(probe.total().hits, entry.hits() - kTasks);
    crowd.wake();
    EXPECT_NEAR(static_cast<double>(seen_or_missed(probe) - told),
                static_cast<double>(entry.hits() - entered), 4);
    std::printf("%lu of %u missed while the pool grew\n", no_instance(probe), kTasks);
    EXPECT_LT(no_instance(probe), kTasks / 10);
}

TEST_F(Shadow, CallsAreCountedWhileACpuComesAndGoes) {
    const Probe entry = device_.must_attach(at(kGetpgid));
    const Probe probe = device_.must_attach(shadow(kGetpgid));
    expect_mechanism(probe, DJPROBE_MODE_AUTO);
    const Probe sleeps = device_.must_attach(shadow(kSleep));
    Crowd crowd(200);
    const auto set_online = [](bool online) {
        std::ofstream file("/sys/devices/system/cpu/cpu1/online");
        EXPECT_TRUE(file << online << std::flush);
    };
    std::atomic<bool> stop = false;
    std::thread caller([&] {
        while (!stop)
            call_getpgid(200, 3);
    });
    for (int i = 0; i < 6; ++i) {
        set_online(i % 2);
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    stop = true;
    caller.join();
    crowd.wake();
    EXPECT_GT(entry.hits(), 1000u);
    EXPECT_EQ(seen_or_missed(probe), entry.hits());
    EXPECT_EQ(missed(probe.query()), 0u);
    EXPECT_GE(seen_or_missed(sleeps), 200u);
}

TEST_F(Shadow, WhoIsKilledInsideGivesItsInstanceBack) {
    const Instances few(100);
    const Probe entry = device_.must_attach(at(kSleep));
    const Probe probe = device_.must_attach(shadow(kSleep));
    probe.settle();
    const uint64_t before = entry.hits() - seen_or_missed(probe);
    // More than there are instances at first.
    for (int round = 0; round < 4; ++round) {
        constexpr int kChildren = 60;
        const uint64_t entered = entry.hits();
        std::vector<pid_t> children;
        for (int i = 0; i < kChildren; ++i) {
            const pid_t child = fork();
            if (child == 0) {
                sleep_once(3'600'000);
                _exit(0);
            }
            children.push_back(child);
        }
        EXPECT_TRUE(wait_until([&] { return entry.hits() - entered >= kChildren; }));
        for (const pid_t child : children)
            kill(child, SIGKILL);
        for (const pid_t child : children)
            waitpid(child, nullptr, 0);
    }
    EXPECT_NEAR(static_cast<double>(entry.hits() - seen_or_missed(probe)),
                static_cast<double>(before), 4);
}

/// Threads that are all inside of vfs_read() from when they have been made until they are let go.
class Readers {
  public:
    Readers() {
        if (pipe(ends_) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
    }
    ~Readers() {
        close(ends_[1]);
        for (std::thread& reader : readers_)
            reader.join();
        close(ends_[0]);
    }
    Readers(const Readers&) = delete;
    Readers& operator=(const Readers&) = delete;
    /// Real-time threads inherit that: on the same CPU no other task runs up to the end of this.
    void add(int count) {
        for (int i = 0; i < count; ++i) {
            readers_.emplace_back([this] {
                char byte = 0;
                (void)!read(ends_[0], &byte, 1);
            });
            sched_yield();
        }
    }

  private:
    int ends_[2] = {-1, -1};
    std::vector<std::thread> readers_;
};

TEST_F(Shadow, APoolThatIsShortWhenASystemSleepIsPreparedGrowsLater) {
    const Instances few(2);
    const Probe probe = device_.must_attach(shadow("vfs_read"));
    probe.settle();
    // The worker that makes more waits for the CPU until a sleep has been prepared: that is what
    // who opens this file is about.
    const auto short_when_prepared = [] {
        cpu_set_t first;
        CPU_ZERO(&first);
        CPU_SET(0, &first);
        sched_setaffinity(0, sizeof first, &first);
        const sched_param real_time = {.sched_priority = 50};
        ASSERT_EQ(sched_setscheduler(0, SCHED_FIFO, &real_time), 0);
        Readers readers;
        readers.add(30);
        const int fd = open("/dev/snapshot", O_RDONLY | O_CLOEXEC);
        ASSERT_GE(fd, 0);
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        close(fd);
    };
    std::thread(short_when_prepared).join();
    EXPECT_GT(no_instance(probe), 10u);
    const auto misses = [&] {
        const uint64_t before = no_instance(probe);
        Readers readers;
        readers.add(30);
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        return no_instance(probe) - before;
    };
    for (int i = 0; i < 8; ++i)
        misses();
    EXPECT_EQ(misses(), 0u);
}

TEST_F(Shadow, DetachingWhileTasksAreInsideIsSafe) {
    const Probe entry = device_.must_attach(at(kSleep));
    std::list<Crowd> crowds;  // they return when the probes have gone
    for (int i = 0; i < 8; ++i) {
        const Probe probe = device_.must_attach(shadow(kSleep));
        if (i % 2) probe.settle();
        const uint64_t entered = entry.hits();
        crowds.emplace_back(20);
        ASSERT_TRUE(crowds.back().gather([&] { return entry.hits() - entered; }));
    }
}

TEST_F(Shadow, DisablesAndEnablesWithTasksInside) {
    const Probe entry = device_.must_attach(at(kSleep));
    const Probe probe = device_.must_attach(shadow(kSleep));
    const Probe calls = device_.must_attach(shadow(kGetpgid));
    for (int i = 0; i < 3; ++i) {
        const uint64_t entered = entry.hits();
        Crowd sleeper(1);
        ASSERT_TRUE(sleeper.gather([&] { return entry.hits() - entered; }));
        const uint64_t before = calls.hits();
        EXPECT_EQ(probe.enable(false), 0);
        EXPECT_EQ(calls.enable(false), 0);
        call_getpgid(10);
        EXPECT_EQ(calls.hits(), before);
        if (i) sleeper.wake();
        EXPECT_EQ(probe.enable(true), 0);
        EXPECT_EQ(calls.enable(true), 0);
        call_getpgid(10);
        EXPECT_EQ(calls.hits(), before + 10);
        if (!i) sleeper.wake();
    }
}

TEST_F(Shadow, RecursionAThousandDeepIsCountedExactly) {
    const HostileCaller call;
    const Instances few(100);
    const Probe probe = device_.must_attach(shadow("hostile:hostile_deeper"));
    expect_mechanism(probe, DJPROBE_MODE_AUTO);
    EXPECT_EQ(call(kNumberOf_dive, 1000), 1000u);
    EXPECT_EQ(seen_or_missed(probe), 1001u);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    const uint64_t missed_at_first = missed(probe.query());
    std::printf("%lu of 1001 missed while the pool grew\n", missed_at_first);
    // Each dive may make it grow.
    for (int i = 0; i < 4; ++i) {
        call(kNumberOf_dive, 1000);
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    const uint64_t hits = probe.hits(), missed_before = missed(probe.query());
    EXPECT_EQ(call(kNumberOf_dive, 1000), 1000u);
    EXPECT_EQ(probe.hits(), hits + 1001);
    EXPECT_EQ(missed(probe.query()), missed_before);
}

TEST_F(Shadow, WhatFindsNoInstanceIsCountedAsMissed) {
    const HostileCaller call;
    const Instances few(100);
    const Probe probe = device_.must_attach(shadow("hostile:hostile_deeper"));
    probe.settle();
    // With interrupts off the pool cannot grow in time, on one CPU at least.
    EXPECT_EQ(call(kNumberOf_dive_off, 1000), 1000u);
    EXPECT_EQ(seen_or_missed(probe), 1001u);
    EXPECT_GT(no_instance(probe), 0u);
    EXPECT_GE(probe.hits(), 100u);
    EXPECT_EQ(missed(probe.query()), no_instance(probe));
}

TEST_F(Shadow, TailCallsAreSeen) {
    const HostileCaller call;
    Request exact = at("hostile:hostile_hop");
    exact.flags = DJPROBE_ATTACH_RETURN;
    EXPECT_EQ(device_.attach(exact).reason, DJPROBE_REASON_TAIL_CALL);
    for (const djprobe_mode mode : kBothModes) {
        Request request = observed("hostile:hostile_hop", 0, mode, 4);
        request.flags = kShadow;
        const Probe hop = device_.must_attach(request);
        const Probe far = device_.must_attach(shadow("hostile:hostile_hop_far", mode));
        const Probe land = device_.must_attach(shadow("hostile:hostile_land", mode));
        for (const Probe* probe : {&hop, &far, &land})
            probe->settle();
        forget(4);
        EXPECT_EQ(call(kNumberOf_hop, 7), 8u);
        EXPECT_EQ(seen(4).regs[OBSERVE_AX], 8u);
        EXPECT_EQ(call(kNumberOf_hop, 6), 15u);
        EXPECT_EQ(seen(4).regs[OBSERVE_AX], 15u) << "what the other function returned";
        EXPECT_EQ(call(kNumberOf_hop_far, 5), 23u);
        EXPECT_EQ(hop.hits(), 3u);
        EXPECT_EQ(far.hits(), 1u);
        EXPECT_EQ(land.hits(), 2u) << "three return addresses replaced on end";
    }
}

TEST_F(Shadow, OneFunctionManyTimesAndInBothWays) {
    std::vector<Probe> probes;
    for (int i = 0; i < 3; ++i)
        probes.push_back(device_.must_attach(shadow(kGetpgid)));
    Request exact = at(kGetpgid);
    exact.flags = DJPROBE_ATTACH_RETURN;
    probes.push_back(device_.must_attach(exact));
    probes.push_back(device_.must_attach(at(kGetpgid)));
    for (const Probe& probe : probes)
        probe.settle();
    const observation chain = chain_of_callee();
    EXPECT_EQ(symbol_at(chain.stack[2]), "do_syscall_64");
    EXPECT_EQ(call_getpgid(200, 2), 0u);
    for (const Probe& probe : probes)
        EXPECT_EQ(probe.total().hits, 401u);
}

TEST_F(Shadow, WhatMustNotBeReplacedIsRefused) {
    const auto refused = [this](const std::string& function) {
        const Answer answer = device_.attach(shadow(function));
        EXPECT_EQ(answer.error, -EACCES) << function;
        return answer.reason;
    };
    EXPECT_EQ(refused("__switch_to"), DJPROBE_REASON_SPECIAL_RETURN);
    EXPECT_EQ(refused("do_exit"), DJPROBE_REASON_NO_RETURN);
    // A CPU that goes offline does not return from the one, and no task from the other.
    for (const char* function : {"do_idle", "bpf_throw"})
        if (address_of(function) != 0) {
            EXPECT_EQ(refused(function), DJPROBE_REASON_SPECIAL_RETURN) << function;
        }
    EXPECT_EQ(refused("rethook_trampoline_handler"), DJPROBE_REASON_BLACKLISTED);
    // Each round of its loop would begin like a call.
    EXPECT_EQ(refused("hostile:hostile_again"), DJPROBE_REASON_ENTRY_AGAIN);
    Request request = shadow(kGetpgid);
    request.offset = 8;
    EXPECT_EQ(device_.attach(request).error, -EINVAL);
    request.offset = 0;
    request.flags = DJPROBE_ATTACH_SHADOW;
    EXPECT_EQ(device_.attach(request).error, -EINVAL) << "only with RETURN";
}

TEST_F(Shadow, TheSchedulerReturnsAsTheSameTask) {
    const Probe entry = device_.must_attach(at("schedule"));
    const Probe probe = device_.must_attach(shadow("schedule"));
    probe.settle();
    const uint64_t before = entry.hits() - seen_or_missed(probe);
    sleep_together(40, 100);
    EXPECT_GT(probe.hits(), 40u);
    // The tasks that sleep at the moment.
    EXPECT_NEAR(static_cast<double>(entry.hits() - seen_or_missed(probe)),
                static_cast<double>(before), 60);
}

TEST_F(Shadow, OfRandomFunctionsAllAtOnceUnderLoad) {
    std::map<uint32_t, int> reasons;
    std::vector<Probe> probes;
    Load load(2);
    for (const std::string& function : random_functions(400)) {
        Answer answer = device_.attach(shadow(function));
        ++reasons[answer.error ? static_cast<uint32_t>(answer.reason) : 0];
        if (answer.error)
            EXPECT_NE(answer.reason, DJPROBE_REASON_NONE) << function << " " << answer.error;
        else
            probes.push_back(std::move(answer.probe));
    }
    for (const Probe& probe : probes)
        probe.settle();
    sleep_together(20, 50);
    for (int i = 0; i < 20; ++i) {
        const pid_t child = fork();
        if (child == 0) execl("/bin/true", "true", nullptr);
        waitpid(child, nullptr, 0);
    }
    load.stop();
    EXPECT_EQ(load.wrong(), 0u);
    uint64_t hits = 0;
    for (const Probe& probe : probes)
        hits += probe.hits();
    std::printf("%lu hits\n", hits);
    EXPECT_GT(hits, 0u);
    for (const auto& [reason, count] : reasons)
        std::printf("%4d %s\n", count, describe(static_cast<djprobe_reason>(reason)).c_str());
    EXPECT_GT(reasons[0], 300);
}

uint64_t available_bytes() {
    std::ifstream file("/proc/meminfo");
    std::string name, unit;
    uint64_t kib = 0;
    while (file >> name >> kib >> unit)
        if (name == "MemAvailable:") return kib << 10;
    return 0;
}

TEST_F(Shadow, ManyTogetherBeginWithFewInstancesEach) {
    std::vector<djprobe_site> sites;
    const std::vector<std::string> functions = random_functions(1500);
    for (const std::string& function : functions) {
        const Request wanted = shadow(function);
        if (!device_.explain(wanted).is_site()) continue;
        djprobe_site site = {};
        site.symbol = reinterpret_cast<uintptr_t>(function.c_str());
        site.flags = wanted.flags;
        sites.push_back(site);
    }
    const uint64_t before = available_bytes();
    const ManyAnswer many = device_.attach_many(sites, counter());
    ASSERT_EQ(many.error, 0) << many.request.failed;
    const uint64_t after = available_bytes(), used = before > after ? before - after : 0;
    std::printf("%zu functions, %lu MiB\n", sites.size(), used >> 20);
    EXPECT_GT(sites.size(), 1000u);
    EXPECT_LT(used, sites.size() * 32 * 1024);
    many.probes.settle();
    sleep_together(20, 50);
    EXPECT_GT(many.probes.total().hits, 0u);
}

}  // namespace
}  // namespace djprobe::vm
