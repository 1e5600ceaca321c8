// SPDX-License-Identifier: GPL-2.0
#include "object/crash_guard.h"

#include <gtest/gtest.h>
#include <sys/time.h>
#include <unistd.h>

#include <csignal>

namespace djprobe::loader {
namespace {

constexpr const char* kLine =
    "^probeload: x.bpf.o: damaged: libbpf does not survive reading it; build it anew\n$";

// Each call of its own size; volatile, or a compiler sees that it never returns.
volatile bool deeper = true;
[[gnu::noinline]] int without_end(volatile char* from) {
    volatile char more[4096] = {};
    more[0] = from[0];
    return deeper ? without_end(more) + more[1] : more[0];
}

TEST(CrashGuardDeathTest, ACrashIsALine) {
    for (const int signal : {SIGSEGV, SIGABRT, SIGFPE}) {
        EXPECT_EXIT(
            {
                const CrashGuard guard("x.bpf.o");
                raise(signal);
            },
            testing::ExitedWithCode(3), kLine);
    }
}

TEST(CrashGuardDeathTest, SoIsAStackThatEnds) {
    EXPECT_EXIT(
        {
            const CrashGuard guard("x.bpf.o");
            volatile char first[1] = {};
            without_end(first);
        },
        testing::ExitedWithCode(3), kLine);
}

TEST(CrashGuardDeathTest, SoIsACircle) {
    EXPECT_EXIT(
        {
            const CrashGuard guard("x.bpf.o", 1);
            for (volatile unsigned turns = 0;;)
                turns = turns + 1;
        },
        testing::ExitedWithCode(3), kLine);
}

// Ctrl-C arms the alarm (StopSignals) while the kernel takes its time for the object.
TEST(CrashGuardDeathTest, AnAlarmIsNoSignOfDamage) {
    EXPECT_EXIT(
        {
            std::signal(SIGALRM, [](int) { _exit(42); });
            const CrashGuard guard("x.bpf.o", 5);
            raise(SIGALRM);
        },
        testing::ExitedWithCode(42), "");
}

TEST(CrashGuardDeathTest, ItEndsWithItsScope) {
    EXPECT_EXIT(
        {
            std::signal(SIGSEGV, [](int) { _exit(42); });
            { const CrashGuard guard("x.bpf.o", 1); }
            itimerval left;
            if (getitimer(ITIMER_PROF, &left) != 0 || timerisset(&left.it_value)) _exit(1);
            raise(SIGSEGV);
        },
        testing::ExitedWithCode(42), "");
}

}  // namespace
}  // namespace djprobe::loader
