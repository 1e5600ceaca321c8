// SPDX-License-Identifier: GPL-2.0
// The patch protocol under running threads on the real CPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "support/live_probe.h"

namespace djprobe::x86 {
namespace {

using test::Arena;
using test::Bytes;
using test::LiveProbe;
using test::LiveSite;
using test::Workers;

struct LiveFunction {
    const char* name;
    Bytes code;  ///< u64 f(u64 n): 3 * n
    LiveSite site = {};
    Tactic tactic = Tactic::Window;
    u64 hits = 1;  ///< of one call
};

void PrintTo(const LiveFunction& function, std::ostream* out) {
    *out << function.name;
}

class PatchLiveTest : public testing::TestWithParam<LiveFunction> {
  protected:
    // More threads than CPUs would only wait for each other.
    static size_t threads() { return std::thread::hardware_concurrency() > 2 ? 2 : 1; }
    static constexpr int kRounds = 50;

    Arena arena_{Arena::Place::Low};
    const Bytes code_ = GetParam().code;

    void SetUp() override {
        if (!test::LivePort::is_supported()) GTEST_SKIP() << "membarrier lacks SYNC_CORE";
    }

    bool call(u64 n) const {
        const auto function = reinterpret_cast<u64 (*)(u64)>(arena_.text());
        return function(n) == 3 * n;
    }
    bool text_is_original() const {
        return Bytes(reinterpret_cast<const u8*>(arena_.text()),
                     reinterpret_cast<const u8*>(arena_.text()) + code_.size()) == code_;
    }
};

INSTANTIATE_TEST_SUITE_P(
    , PatchLiveTest,
    testing::Values(
        LiveFunction{"OneInstruction", CODE(".byte 0x48, 0x69, 0xc7, 3, 0, 0, 0; ret")},  // imul

        LiveFunction{"Prologue",
                     CODE("push rbp; mov rbp, rsp; lea rax, [rdi + rdi*2]; pop rbp; ret")},
        LiveFunction{"FiveInstructions",
                     CODE("push rbx; push rbp; pop rbp; pop rbx; push rdi; pop rax;"
                          "lea rax, [rax + rax*2]; ret")},
        LiveFunction{"ConditionalJump",
                     CODE("mov rax, rdi; test dil, 1; jz 1f; lea rax, [rax + rdi*2]; ret;"
                          "1: add rax, rdi; add rax, rdi; ret")},
        LiveFunction{"EightBytesWithACounterJump",
                     CODE("lea rax, [rdi + rdi*2]; jrcxz 1f; inc ecx; 1: ret")},
        // Behind the ret there is other code: no room for five bytes but from the lea on.
        LiveFunction{"Slide",
                     CODE("push rbp; mov rbp, rsp; lea rax, [rdi + rdi*2]; pop rbp; ret; ud2"),
                     {8, kAllTactics, {}},
                     Tactic::Slide},
        LiveFunction{"LongSlide",
                     CODE("mov rax, rdi; push rbx; pop rbx; add rax, rdi; push rcx; pop rcx;"
                          "add rax, rdi; push rdx; pop rdx; ret; ud2"),
                     {14, kAllTactics, {4, 9}},
                     Tactic::Slide},
        // Two ways lead to the add. One passes the site twice, and the site is itself a target.
        LiveFunction{"Springboard",
                     CODE("xor eax, eax; mov ecx, 3; jmp 2f; 1: inc edx; 2: add rax, rdi;"
                          "dec ecx; jnz 1b; ret; .fill 9, 1, 0xcc"),
                     {9, kAllTactics, {}},
                     Tactic::Springboard,
                     2},
        // One of several instructions: a task may be preempted between them.
        LiveFunction{"SpringboardOfTwo",
                     CODE("lea rax, [rdi + rdi*2]; 1: push rcx; pop rcx; test eax, eax; js 1b; ret;"
                          ".fill 6, 1, 0xcc"),
                     {4, kAllTactics, {4, 6}},
                     Tactic::Springboard}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_P(PatchLiveTest, EveryCallIsOneHitThroughAllTransitions) {
    LiveProbe probe(arena_, code_, GetParam().site);
    ASSERT_TRUE(probe.arm());
    Workers workers(threads(), [this](u64 n) { return call(n); });
    for (int round = 0; round < kRounds; ++round) {
        ASSERT_TRUE(probe.optimize([&] { workers.quiescence(); }));
        workers.quiescence();
        ASSERT_TRUE(probe.unoptimize([&] { workers.quiescence(); }));
        workers.quiescence();
    }
    workers.stop();
    ASSERT_TRUE(probe.disarm());

    EXPECT_EQ(workers.calls() * GetParam().hits, probe.int3_hits() + probe.jump_hits());
    EXPECT_EQ(workers.wrong(), 0u);
    EXPECT_TRUE(text_is_original());
    EXPECT_GT(probe.int3_hits(), 0u);
    EXPECT_GT(probe.jump_hits(), 0u);
}

TEST_P(PatchLiveTest, ResultsStayRightWhileProbesComeAndGo) {
    LiveProbe probe(arena_, code_, GetParam().site);
    Workers workers(threads(), [this](u64 n) { return call(n); });
    for (int round = 0; round < kRounds; ++round) {
        ASSERT_TRUE(probe.arm());
        ASSERT_TRUE(probe.optimize([&] { workers.quiescence(); }));
        ASSERT_TRUE(probe.unoptimize([&] { workers.quiescence(); }));
        ASSERT_TRUE(probe.disarm());
        EXPECT_TRUE(text_is_original());
    }
    workers.stop();
    EXPECT_EQ(workers.wrong(), 0u);
    EXPECT_LE(probe.int3_hits() + probe.jump_hits(), workers.calls() * GetParam().hits);
}

TEST_P(PatchLiveTest, TheTacticIsTheOneThatIsMeant) {
    const LiveProbe probe(arena_, code_, GetParam().site);
    EXPECT_EQ(probe.plan().tactic, GetParam().tactic);
}

/// Threads on all CPUs against one that patches, for DJPROBE_PATCH_SECONDS (by default half a
/// second): what emulation cannot show.
TEST_P(PatchLiveTest, NoTornInstructionAndExactCountsOnAllCpus) {
    const char* const wanted = std::getenv("DJPROBE_PATCH_SECONDS");
    const std::chrono::duration<double> time(wanted ? std::atof(wanted) : 0.5);
    LiveProbe probe(arena_, code_, GetParam().site);
    ASSERT_TRUE(probe.arm());
    Workers workers(std::max(2u, std::thread::hardware_concurrency()),
                    [this](u64 n) { return call(n); });
    std::mt19937_64 random(1);
    // Phases of any length: the next write meets the threads anywhere.
    const auto linger = [&] {
        for (u64 left = random() % 2000; left > 0; --left)
            asm volatile("pause");
    };
    const auto end = std::chrono::steady_clock::now() + time;
    u64 rounds = 0;
    for (; std::chrono::steady_clock::now() < end; ++rounds) {
        ASSERT_TRUE(probe.optimize([&] { workers.quiescence(); }));
        linger();
        if (rounds % 4 == 0) workers.quiescence();  // every worker has been through the jump
        ASSERT_TRUE(probe.unoptimize([&] { workers.quiescence(); }));
        linger();
        if (rounds % 4 == 0) workers.quiescence();  // and through the int3
    }
    workers.stop();
    ASSERT_TRUE(probe.disarm());
    EXPECT_GT(probe.int3_hits(), 0u);
    EXPECT_GT(probe.jump_hits(), 0u);
    EXPECT_EQ(workers.wrong(), 0u);
    EXPECT_EQ(workers.calls() * GetParam().hits, probe.int3_hits() + probe.jump_hits());
    EXPECT_TRUE(text_is_original());
    EXPECT_GT(rounds, 0u);
    std::printf("%lu rounds, %lu calls, %lu hits by jump, %lu by int3\n", rounds, workers.calls(),
                probe.jump_hits(), probe.int3_hits());
}

TEST_P(PatchLiveTest, NoHitIsCountedOnceTheProbeIsGone) {
    LiveProbe probe(arena_, code_, GetParam().site);
    ASSERT_TRUE(probe.arm());
    ASSERT_TRUE(call(5));
    ASSERT_TRUE(probe.disarm());
    for (u64 n = 0; n < 100; ++n)
        EXPECT_TRUE(call(n));
    EXPECT_EQ(probe.int3_hits(), GetParam().hits);
    EXPECT_EQ(probe.jump_hits(), 0u);
}

}  // namespace
}  // namespace djprobe::x86
