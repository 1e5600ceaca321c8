// SPDX-License-Identifier: GPL-2.0
#include "whose.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <thread>
#include <vector>

#include "../probes/harness/load.h"
#include "asks.h"
#include "beside.h"
#include "child.h"

namespace djprobe::vm {
namespace {

constexpr uint64_t kCalls = 20;

/// Of `whose` number or descriptor, by the flags.
Fd open_of(uint64_t offset, int whose, uint64_t flags) {
    perf_event_attr attr = {};
    attr.size = sizeof attr;
    attr.type = kprobe_type();
    attr.config1 = reinterpret_cast<uintptr_t>(kGetpgid);
    attr.config2 = offset;
    return Fd(static_cast<int>(
        syscall(SYS_perf_event_open, &attr, whose, 0, -1, flags | PERF_FLAG_FD_CLOEXEC)));
}

void say_count(const Fd& event) {
    uint64_t count = 0;
    const bool is_read = read(event.get(), &count, sizeof count) == sizeof count;
    std::printf("count: %lld\n", is_read ? static_cast<long long>(count) : -1);
    std::fflush(stdout);
}

/// A probe of all tasks where `ask` is to open another event.
template <class Ask>
void beside_one_of_all(const Seen& seen, Ask ask) {
    const auto offset = find_offset(9, 16);
    if (!offset) return;
    const Fd all = open_event({kGetpgid, *offset, false});
    say("of all", set_program(all, seen.program("observe")));
    const Fd other = ask(*offset);
    say("of one", other ? 0 : errno);
    seen.count("of all", 0);
    say_count(other);
}

/// Threads that open events until they are killed.
[[noreturn]] void ask_for_ever() {
    constexpr int kThreads = 4;
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (int i = 0; i < kThreads; ++i)
        threads.emplace_back([] {
            for (;;)
                open_event({kGetpgid, 0, false});
        });
    for (;;)
        pause();
}

}  // namespace

void keep_to_first_cpu() {
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(0, &first);
    sched_setaffinity(0, sizeof first, &first);
}

void of_one_task(const Seen& seen) {
    keep_to_first_cpu();
    WaitingChild child([] { call_getpgid(kCalls); });
    beside_one_of_all(seen, [&](uint64_t offset) {
        Fd event = open_of(offset, child.number(), 0);
        child.run_to_its_end();
        return event;
    });
}

void of_one_cgroup(const Seen& seen) {
    keep_to_first_cpu();
    const Fd cgroup(open("/sys/fs/cgroup", O_RDONLY | O_DIRECTORY));
    beside_one_of_all(
        seen, [&](uint64_t offset) { return open_of(offset, cgroup.get(), PERF_FLAG_PID_CGROUP); });
}

void killed(const Seen& seen) {
    constexpr unsigned kTimes = 100, kLongest = 15'000;
    for (unsigned i = 0; i < kTimes; ++i) {
        const pid_t child = fork();
        if (child == 0) ask_for_ever();
        usleep(2000 + i * 37 % kLongest);
        kill(child, SIGKILL);
        waitpid(child, nullptr, 0);
    }
    const Fd event = open_event({kGetpgid, 0, false});
    say("program", set_program(event, seen.program("observe")));
    seen.count("one", 0);
}

}  // namespace djprobe::vm
