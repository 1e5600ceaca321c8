// SPDX-License-Identifier: GPL-2.0
// The patch protocol under running threads on the real CPU.
#include <gtest/gtest.h>

#include "support/live_probe.h"

namespace djprobe::x86 {
namespace {

using test::Arena;
using test::Bytes;
using test::LiveProbe;
using test::Workers;

struct LiveFunction {
    const char* name;
    Bytes code;  ///< u64 f(u64 n): 3 * n
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
                          "1: add rax, rdi; add rax, rdi; ret")}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_P(PatchLiveTest, EveryCallIsOneHitThroughAllTransitions) {
    LiveProbe probe(arena_, code_);
    ASSERT_TRUE(probe.arm());
    Workers workers(threads(), [this](u64 n) { return call(n); });
    for (int round = 0; round < kRounds; ++round) {
        ASSERT_TRUE(probe.optimize([&] { workers.quiescence(); }));
        workers.quiescence();
        ASSERT_TRUE(probe.unoptimize());
        workers.quiescence();
    }
    workers.stop();
    ASSERT_TRUE(probe.disarm());

    EXPECT_EQ(workers.calls(), probe.int3_hits() + probe.jump_hits());
    EXPECT_EQ(workers.wrong(), 0u);
    EXPECT_TRUE(text_is_original());
    EXPECT_GT(probe.int3_hits(), 0u);
    EXPECT_GT(probe.jump_hits(), 0u);
}

TEST_P(PatchLiveTest, ResultsStayRightWhileProbesComeAndGo) {
    LiveProbe probe(arena_, code_);
    Workers workers(threads(), [this](u64 n) { return call(n); });
    for (int round = 0; round < kRounds; ++round) {
        ASSERT_TRUE(probe.arm());
        ASSERT_TRUE(probe.optimize([&] { workers.quiescence(); }));
        ASSERT_TRUE(probe.unoptimize());
        ASSERT_TRUE(probe.disarm());
        EXPECT_TRUE(text_is_original());
    }
    workers.stop();
    EXPECT_EQ(workers.wrong(), 0u);
    EXPECT_LE(probe.int3_hits() + probe.jump_hits(), workers.calls());
}

TEST_P(PatchLiveTest, NobodyIsCountedOnceTheProbeIsGone) {
    LiveProbe probe(arena_, code_);
    ASSERT_TRUE(probe.arm());
    ASSERT_TRUE(call(5));
    ASSERT_TRUE(probe.disarm());
    for (u64 n = 0; n < 100; ++n)
        EXPECT_TRUE(call(n));
    EXPECT_EQ(probe.int3_hits(), 1u);
    EXPECT_EQ(probe.jump_hits(), 0u);
}

}  // namespace
}  // namespace djprobe::x86
