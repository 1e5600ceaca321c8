// SPDX-License-Identifier: GPL-2.0
// standstill: many threads stop wherever they are in a system call, and go on when told.
//
// They share the last CPU, which takes each of them off at any instruction, and call getuid(),
// which takes no lock that others would wait for. From SIGUSR1 on a real-time thread keeps that
// CPU to itself: all others stay where they were. SIGUSR2 ends all that.
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

std::atomic<bool> stand{false}, stop{false};

void move_to_last_cpu() {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(sysconf(_SC_NPROCESSORS_ONLN) - 1, &set);
    if (sched_setaffinity(0, sizeof set, &set)) std::perror("standstill: sched_setaffinity");
}

void call() {
    constexpr int kCallsEach = 1000;
    move_to_last_cpu();
    while (!stop) {
        for (int i = 0; i < kCallsEach; ++i)
            (void)getuid();
        // A task that never leaves the CPU of its own will keeps quiescences waiting.
        sched_yield();
    }
}

void keep_cpu() {
    move_to_last_cpu();
    while (!stand)
        usleep(1000);
    const sched_param first = {.sched_priority = 50};
    if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &first)) stop = true;
    while (!stop) {
    }
}

}  // namespace

int main(int argc, char** argv) {
    const int count = argc == 2 ? std::atoi(argv[1]) : 0;
    if (count < 1) {
        std::fputs("usage: standstill THREADS\n", stderr);
        return 2;
    }
    std::signal(SIGUSR1, [](int) { stand = true; });
    std::signal(SIGUSR2, [](int) { stop = true; });
    std::thread keeper(keep_cpu);
    std::vector<std::thread> callers;
    callers.reserve(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i)
        callers.emplace_back(call);
    for (std::thread& caller : callers)
        caller.join();
    keeper.join();
}
