// SPDX-License-Identifier: GPL-2.0
// Probes at the returns of a function: each call is one hit, whatever happens in between.
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <list>
#include <map>
#include <optional>
#include <thread>

#include "../harness/crowd.h"
#include "../harness/observer.h"
#include "../harness/random_functions.h"
#include "arch/x86/insn/decode.h"
#include "kernel/kcore.h"

namespace djprobe::vm {
namespace {

class Return : public ObserverTest {
  protected:
    Request at_return(const std::string& function, djprobe_mode mode = DJPROBE_MODE_AUTO) const {
        Request request = at(function, 0, mode);
        request.flags = DJPROBE_ATTACH_RETURN;
        return request;
    }
};

TEST_F(Return, EveryCallIsOneHit) {
    for (const djprobe_mode mode : {DJPROBE_MODE_AUTO, DJPROBE_MODE_INT3}) {
        const Probe probe = device_.must_attach(at_return(kGetpgid, mode));
        expect_mechanism(probe, mode);
        EXPECT_EQ(call_getpgid(500, 4), 0u);
        EXPECT_EQ(probe.total().hits, 2000u);
        for (const uint64_t missed : probe.total().missed)
            EXPECT_EQ(missed, 0u);
    }
}

TEST_F(Return, TheValueAndTheFunctionAreSeen) {
    for (const djprobe_mode mode : {DJPROBE_MODE_AUTO, DJPROBE_MODE_INT3}) {
        Request request = observed(kGetpgid, 0, mode, 2);
        request.flags = DJPROBE_ATTACH_RETURN;
        const Probe probe = device_.must_attach(request);
        expect_mechanism(probe, mode);
        forget(2);
        const pid_t group = getpgid(0);
        const observation seen = Return::seen(2);
        EXPECT_EQ(seen.hits, 1u);
        EXPECT_EQ(seen.regs[OBSERVE_AX], static_cast<uint64_t>(group));
        EXPECT_EQ(seen.func_ip, address_of(kGetpgid));
        EXPECT_EQ(symbol_at(seen.stack[1]), "do_syscall_64");
    }
}

// Where return addresses are replaced each level shows the replacement.
TEST_F(Return, StacksOfNestedReturnsAreTrue) {
    for (const djprobe_mode mode : kBothModes) {
        const auto attach = [&](const char* function, uint64_t cookie) {
            Request request = observed(function, 0, mode, cookie);
            request.flags = DJPROBE_ATTACH_RETURN;
            forget(cookie);
            return device_.must_attach(request);
        };
        const Probe outer = attach(kGetpgid, 2);
        const Probe inner = attach("do_getpgid", 3);
        expect_mechanism(outer, mode);
        expect_mechanism(inner, mode);
        getpgid(0);
        EXPECT_EQ(symbol_at(seen(2).stack[1]), "do_syscall_64");
        EXPECT_EQ(symbol_at(seen(3).stack[1]), kGetpgid);
        EXPECT_EQ(symbol_at(seen(3).stack[2]), "do_syscall_64");
    }
}

/// What the text jumps to: the first byte of our code for a site.
std::optional<uint64_t> jump_target(const loader::Kcore& memory, uint64_t address) {
    const std::vector<uint8_t> bytes = memory.read(address, 5);
    int32_t distance;
    memcpy(&distance, bytes.data() + 1, 4);
    if (bytes[0] != 0xe9) return {};
    return address + 5 + static_cast<uint64_t>(int64_t{distance});
}

/// Returns and indirect branches among the instructions from `address` on.
int branches_of_their_own(const loader::Kcore& memory, uint64_t address) {
    const std::vector<uint8_t> bytes = memory.read(address, 512);
    int found = 0;
    for (size_t at = 0; at < bytes.size() && bytes[at] != 0xcc;) {
        x86::Insn insn;
        if (!x86::decode({bytes.data() + at, bytes.size() - at}, address + at, insn)) break;
        found += insn.kind == x86::Kind::Return || insn.kind == x86::Kind::IndirectJump ||
                 insn.kind == x86::Kind::IndirectCall;
        at += insn.length;
    }
    return found;
}

// Where a CPU predicts returns wrongly that end in the lower half of a cache line (ITS) the kernel
// leaves those alone that end in the upper one; in a slot they would lie anywhere.
TEST_F(Return, NoReturnRunsInASlotWhereItsPlaceInACacheLineCounts) {
    std::ifstream file("/sys/devices/system/cpu/vulnerabilities/indirect_target_selection");
    std::string state;
    std::getline(file, state);
    if (state != "Mitigation: Aligned branch/return thunks") GTEST_SKIP() << "not on this CPU";
    const loader::Kcore memory;
    int bare = 0;
    for (const char* function : {"vfs_read", "vfs_write", "vfs_open", "vfs_getattr", "vfs_statx",
                                 "path_openat", "rw_verify_area", "ksys_read", "getname_flags"}) {
        const djprobe_query entry = device_.must_attach(at(function)).settle();
        const uint64_t begin = entry.address - entry.offset;
        const std::vector<uint8_t> text = memory.read(begin, 2048);
        for (size_t at = 0; at < 1024; ++at) {
            // A return, padding behind it up to the next function's place.
            if (text[at] != 0xc3 || text[at + 1] != 0xcc || text[at + 4] != 0xcc) continue;
            Request request = Return::at(function, at);
            const Answer answer = device_.attach(request);
            if (answer.error) continue;
            const Probe& probe = answer.probe;
            if (probe.settle().mechanism != DJPROBE_MECHANISM_JUMP) continue;
            const auto slot = jump_target(memory, probe.query().anchor);
            if (!slot) continue;  // by a springboard
            EXPECT_EQ(branches_of_their_own(memory, *slot), 0) << function << "+" << at;
            ++bare;
        }
    }
    EXPECT_GT(bare, 0) << "no function returns by itself";
}

TEST_F(Return, SleepersAreCountedWhenTheyReturn) {
    constexpr int kSleepers = 200;
    const Probe entry = device_.must_attach(at(kSleep));
    const Probe probe = device_.must_attach(at_return(kSleep));
    expect_mechanism(entry, DJPROBE_MODE_AUTO);
    const uint64_t entered = entry.hits(), left = probe.total().hits;
    sleep_together(kSleepers, 300);
    EXPECT_GE(entry.hits() - entered, static_cast<uint64_t>(kSleepers));
    EXPECT_EQ(probe.total().hits - left, entry.hits() - entered);
}

TEST_F(Return, TenThousandTasksInsideAtOnceAreAllCounted) {
    constexpr unsigned kTasks = 10000;
    const Probe entry = device_.must_attach(at(kSleep));
    const Probe probe = device_.must_attach(at_return(kSleep));
    expect_mechanism(entry, DJPROBE_MODE_AUTO);
    const uint64_t entered = entry.hits(), left = probe.total().hits;
    Crowd crowd(kTasks);
    ASSERT_TRUE(crowd.gather([&] { return entry.hits() - entered; }));
    EXPECT_LE(probe.total().hits - left, entry.hits() - entered - kTasks);
    crowd.wake();
    EXPECT_EQ(probe.total().hits - left, entry.hits() - entered);
    EXPECT_EQ(missed(probe.query()), 0u);
}

TEST_F(Return, DetachingWhileTasksAreInsideIsSafe) {
    const Probe entry = device_.must_attach(at(kSleep));
    std::list<Crowd> crowds;  // each comes while a probe is there, and returns when all have gone
    for (int i = 0; i < 5; ++i) {
        const Probe probe = device_.must_attach(at_return(kSleep));
        if (i % 2) probe.settle();
        const uint64_t entered = entry.hits();
        crowds.emplace_back(20);
        ASSERT_TRUE(crowds.back().gather([&] { return entry.hits() - entered; }));
    }
    // Those of the first return while there is a probe again that they did not come by.
    const Probe again = device_.must_attach(at_return(kSleep));
    const uint64_t before = again.total().hits;
    crowds.pop_front();
    EXPECT_GE(again.total().hits - before, 20u);
}

TEST_F(Return, WhoIsKilledInsideReturnsAsWell) {
    const Probe entry = device_.must_attach(at(kSleep));
    const Probe probe = device_.must_attach(at_return(kSleep));
    probe.settle();
    const uint64_t before = entry.hits() - probe.total().hits;
    for (int i = 0; i < 20; ++i) {
        const uint64_t entered = entry.hits();
        const pid_t child = fork();
        if (child == 0) {
            sleep_once(3'600'000);
            _exit(0);
        }
        EXPECT_TRUE(wait_until([&] { return entry.hits() > entered; }));
        kill(child, SIGKILL);
        waitpid(child, nullptr, 0);
    }
    EXPECT_EQ(entry.hits() - probe.total().hits, before);
}

TEST_F(Return, DisablesAndEnablesAsOne) {
    const Probe probe = device_.must_attach(at_return(kGetpgid));
    EXPECT_EQ(probe.enable(false), 0);
    call_getpgid(10);
    EXPECT_EQ(probe.total().hits, 0u);
    EXPECT_EQ(probe.enable(true), 0);
    call_getpgid(10);
    EXPECT_EQ(probe.total().hits, 10u);
}

TEST_F(Return, OfRandomFunctionsAreTakenOrRefusedWithAReason) {
    std::map<uint32_t, int> reasons;
    for (const std::string& function : random_functions(400)) {
        const Answer answer = device_.attach(at_return(function));
        if (!answer.error) {
            ++reasons[0];
            continue;
        }
        EXPECT_NE(answer.reason, DJPROBE_REASON_NONE) << function << " " << answer.error;
        ++reasons[answer.reason];
        if (answer.reason == DJPROBE_REASON_TAIL_CALL) {
            EXPECT_EQ(answer.error, -EACCES);
            EXPECT_NE(answer.detail[0], 0u);
        }
    }
    for (const auto& [reason, count] : reasons)
        std::printf("%4d %s\n", count, describe(static_cast<djprobe_reason>(reason)).c_str());
    EXPECT_GT(reasons[0], 200);
    EXPECT_GT(reasons[DJPROBE_REASON_TAIL_CALL], 0);
}

TEST_F(Return, TheSiteMustBeAFunction) {
    Request request = at_return(kGetpgid);
    request.offset = 8;
    EXPECT_EQ(device_.attach(request).error, -EINVAL);
    request = at_return("");
    request.address = attach_everywhere(device_, counter(), kGetpgid, 2)[1].query().address;
    const Answer answer = device_.attach(request);
    EXPECT_EQ(answer.error, -EACCES);
    EXPECT_EQ(answer.reason, DJPROBE_REASON_NO_FUNCTION);
    EXPECT_EQ(device_.attach(at_return("do_exit")).reason, DJPROBE_REASON_NO_RETURN);
}

// It was called a module that is loading or unloading.
TEST_F(Return, InitTextIsNamedAsSuch) {
    for (const uint32_t shadow : {0u, uint32_t{DJPROBE_ATTACH_SHADOW}}) {
        Request request = at_return("start_kernel");
        request.flags |= shadow;
        const Answer answer = device_.attach(request);
        EXPECT_EQ(answer.error, -EACCES);
        EXPECT_EQ(describe(answer.reason), describe(DJPROBE_REASON_INIT_TEXT));
    }
}

}  // namespace
}  // namespace djprobe::vm
