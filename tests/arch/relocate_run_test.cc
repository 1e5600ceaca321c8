// SPDX-License-Identifier: GPL-2.0
// Relocated instructions on the real CPU: what they leave is what the originals leave.
#include <gtest/gtest.h>

#include "support/bench.h"
#include "support/printers.h"

namespace djprobe::x86 {
namespace {

using test::Arena;
using test::Bench;
using test::Bytes;
using test::Machine;
using test::Outcome;

/// Run at addresses that a push can hold and at ones that need two instructions.
class RelocateRunTest : public testing::TestWithParam<Arena::Place> {
  protected:
    Bench bench_{GetParam()};

    void expect_same(const Bytes& code) {
        for (int round = 0; round < 16; ++round)
            bench_.expect_relocated_same(code, bench_.start());
    }
};

INSTANTIATE_TEST_SUITE_P(, RelocateRunTest, testing::Values(Arena::Place::Low, Arena::Place::High),
                         [](const auto& info) {
                             return info.param == Arena::Place::Low ? "Low" : "High";
                         });

#define THEN_EXIT "; jmp " ARENA_EXIT

// --- RIP-relative operands ---

TEST_P(RelocateRunTest, RipRelativeLoad) {
    expect_same(CODE("mov rax, [" ARENA_DATA(0x10) "]" THEN_EXIT));
}
TEST_P(RelocateRunTest, RipRelativeStore) {
    expect_same(CODE("mov [" ARENA_DATA(0x10) "], r9" THEN_EXIT));
}
TEST_P(RelocateRunTest, RipRelativeLea) {
    expect_same(CODE("lea r14, [" ARENA_DATA(0x10) "]" THEN_EXIT));
}
TEST_P(RelocateRunTest, RipRelativeCompareWithByteImmediate) {
    expect_same(CODE("cmp byte ptr [" ARENA_DATA(0x10) "], 0x12" THEN_EXIT));
}
TEST_P(RelocateRunTest, RipRelativeCompareWithLongImmediate) {
    expect_same(CODE("cmp dword ptr [" ARENA_DATA(0x10) "], 0x12345678" THEN_EXIT));
}
TEST_P(RelocateRunTest, RipRelativeStoreOfWordImmediate) {
    expect_same(CODE("mov word ptr [" ARENA_DATA(0x10) "], 0x1234" THEN_EXIT));
}
TEST_P(RelocateRunTest, RipRelativeLockedAdd) {
    expect_same(CODE("lock xadd [" ARENA_DATA(0x10) "], rdx" THEN_EXIT));
}
TEST_P(RelocateRunTest, RipRelativePushAndPop) {
    expect_same(CODE("push qword ptr [" ARENA_DATA(0x10) "]" THEN_EXIT));
    expect_same(CODE("pop qword ptr [" ARENA_DATA(0x10) "]" THEN_EXIT));
}

TEST_P(RelocateRunTest, RipRelativeVexLoadAndShuffle) {
    if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "the CPU lacks AVX2";
    expect_same(CODE("vmovdqu ymm0, [" ARENA_DATA(0x40) "]; vmovdqu [rbx + 0x80], ymm0" THEN_EXIT));
    expect_same(CODE("vpshufd ymm0, [" ARENA_DATA(0x40) "], 0x1b; vmovdqu [rbx + 0x80], ymm0"  //
                     THEN_EXIT));
}
TEST_P(RelocateRunTest, RipRelativeEvexLoad) {
    if (!__builtin_cpu_supports("avx512f")) GTEST_SKIP() << "the CPU lacks AVX-512";
    expect_same(CODE("vmovdqu64 zmm17, [" ARENA_DATA(0x40) "]; vmovdqu64 [rbx + 0x80], zmm17"  //
                     THEN_EXIT));
    expect_same(CODE(
        "vpternlogd zmm17, zmm17, [" ARENA_DATA(0x40) "], 0x55;"
                                                      "vmovdqu64 [rbx + 0x80], zmm17" THEN_EXIT));
}

// --- operands that do not depend on the place ---

TEST_P(RelocateRunTest, StackOperands) {
    expect_same(CODE("push r15" THEN_EXIT));
    expect_same(CODE("push rsp" THEN_EXIT));
    expect_same(CODE("pop r15" THEN_EXIT));
    expect_same(CODE("pushfq" THEN_EXIT));
    expect_same(CODE("mov rax, [rsp + 8]" THEN_EXIT));
    expect_same(CODE("mov [rsp + 16], rax" THEN_EXIT));
    expect_same(CODE("push qword ptr [rsp + 8]" THEN_EXIT));
    expect_same(CODE("pop qword ptr [rsp + 8]" THEN_EXIT));
    expect_same(CODE("lea rsp, [rsp - 64]" THEN_EXIT));
    expect_same(CODE("sub rsp, 0x28" THEN_EXIT));
}

TEST_P(RelocateRunTest, Prefixes) {
    expect_same(CODE("mov rax, fs:[0]" THEN_EXIT));
    expect_same(CODE("lock inc qword ptr [rbx]" THEN_EXIT));
    expect_same(CODE("add word ptr [rbx], 0x1234" THEN_EXIT));
    expect_same(CODE(".byte 0x2e, 0x66, 0x66, 0x48, 0x01, 0xc8" THEN_EXIT));  // add rax, rcx
}

TEST_P(RelocateRunTest, RepeatedStringInstruction) {
    const Bytes code = CODE("rep stosb" THEN_EXIT);
    for (const u64 direction : {0ul, +test::kDirection}) {
        Machine machine = bench_.start();
        machine[Machine::CX] = 33;
        machine[Machine::DI] = bench_.arena().data() + 0x100;
        machine.flags = 0x202 | direction;
        bench_.expect_relocated_same(code, machine);
    }
}

TEST_P(RelocateRunTest, FlagInstructions) {
    expect_same(CODE("adc rax, rcx" THEN_EXIT));
    expect_same(CODE("cmc" THEN_EXIT));
    expect_same(CODE("std" THEN_EXIT));
    expect_same(CODE("rcl rax, 3" THEN_EXIT));
}

// --- branches ---

// Taken and not taken end with different values of rax; the dozen bytes of filler keeps a long
// form long.
#define TWO_WAYS(jump) CODE(jump "; mov eax, 1; jmp " ARENA_EXIT "; 1: mov eax, 2; jmp " ARENA_EXIT)
#define TWO_WAYS_FAR(jump) \
    CODE(jump "; mov eax, 1; jmp " ARENA_EXIT "; .skip 150, 0x90; 1: mov eax, 2; jmp " ARENA_EXIT)

/// Run from random states until both ways were gone.
void expect_both_ways(Bench& bench, const Bytes& code) {
    bool seen[3] = {};
    for (int round = 0; round < 200 && !(seen[1] && seen[2]); ++round) {
        Machine machine = bench.start();
        if (round % 2) machine[Machine::CX] = static_cast<u64>(round / 2 % 2);
        seen[bench.expect_relocated_same(code, machine)[Machine::AX]] = true;
    }
    EXPECT_TRUE(seen[1]) << "never fell through";
    EXPECT_TRUE(seen[2]) << "never jumped";
}

TEST_P(RelocateRunTest, EveryShortConditionalJump) {
    Bytes code = TWO_WAYS("jo 1f");
    for (u8 condition = 0; condition < 16; ++condition) {
        SCOPED_TRACE(+condition);
        code[0] = static_cast<u8>(0x70 | condition);
        expect_both_ways(bench_, code);
    }
}

TEST_P(RelocateRunTest, EveryNearConditionalJump) {
    Bytes code = TWO_WAYS_FAR("jo 1f");
    ASSERT_EQ(code[0], 0x0f);
    for (u8 condition = 0; condition < 16; ++condition) {
        SCOPED_TRACE(+condition);
        code[1] = static_cast<u8>(0x80 | condition);
        expect_both_ways(bench_, code);
    }
}

TEST_P(RelocateRunTest, HintedConditionalJump) {
    expect_both_ways(bench_, TWO_WAYS(".byte 0x3e; jz 1f"));
}

TEST_P(RelocateRunTest, CounterJumps) {
    expect_both_ways(bench_, TWO_WAYS("loop 1f"));
    expect_both_ways(bench_, TWO_WAYS("loope 1f"));
    expect_both_ways(bench_, TWO_WAYS("loopne 1f"));
    expect_both_ways(bench_, TWO_WAYS("jrcxz 1f"));
    expect_both_ways(bench_, TWO_WAYS("jecxz 1f"));
}

TEST_P(RelocateRunTest, ShortAndNearJumps) {
    const Bytes near = TWO_WAYS_FAR("jmp 1f");
    ASSERT_EQ(near[0], 0xe9);
    const Bytes brief = TWO_WAYS("jmp 1f");
    ASSERT_EQ(brief[0], 0xeb);
    EXPECT_EQ(bench_.expect_relocated_same(near, bench_.start())[Machine::AX], 2u);
    EXPECT_EQ(bench_.expect_relocated_same(brief, bench_.start())[Machine::AX], 2u);
}

TEST_P(RelocateRunTest, BackwardShortJump) {
    Bytes code = CODE("jmp 1f; 2: mov eax, 2; jmp " ARENA_EXIT "; 1: jmp 2b");
    EXPECT_EQ(bench_.expect_relocated_same(code, bench_.start())[Machine::AX], 2u);
}

TEST_P(RelocateRunTest, IndirectJumps) {
    expect_same(CODE("jmp [" ARENA_DATA(0xf10) "]; nop"));
    expect_same(CODE("jmp [rbx + 0xf10]; nop"));
    expect_same(CODE("jmp [rsp]; nop"));
}

TEST_P(RelocateRunTest, Returns) {
    expect_same(CODE("ret"));
    expect_same(CODE("rep ret"));
    expect_same(CODE("ret 24"));
}

// --- calls ---

void expect_call_returns_to_original(Bench& bench, const Bytes& code, size_t length,
                                     Machine machine) {
    bench.put(code);
    const Outcome original = bench.run(machine, bench.text());
    ASSERT_EQ(Bench::word(original, Bench::kReturnAddress), bench.text() + length);
    ASSERT_EQ(bench.put_relocated(code), Refusal());
    const Outcome relocated = bench.run(machine, bench.arena().slot());
    EXPECT_TRUE(same(relocated, original));
}

TEST_P(RelocateRunTest, DirectCall) {
    expect_call_returns_to_original(bench_, CODE("call " ARENA_CALLEE THEN_EXIT), 5,
                                    bench_.start());
}

TEST_P(RelocateRunTest, PrefixedDirectCall) {
    expect_call_returns_to_original(bench_, CODE(".byte 0x2e; call " ARENA_CALLEE THEN_EXIT), 6,
                                    bench_.start());
}

TEST_P(RelocateRunTest, CallThroughEveryRegisterButTheStackPointer) {
    for (int i = 0; i < 16; ++i) {
        const auto which = static_cast<Machine::Register>(i);
        if (which == Machine::SP) continue;
        SCOPED_TRACE(i);
        Machine machine = bench_.start();
        machine[which] = bench_.text() + Arena::kCallee;
        Bytes code = CODE("call r8" THEN_EXIT);
        code[0] = i < 8 ? 0x40 : 0x41;
        code[2] = static_cast<u8>(0xd0 | (i & 7));
        expect_call_returns_to_original(bench_, code, 3, machine);
    }
}

TEST_P(RelocateRunTest, CallThroughMemory) {
    expect_call_returns_to_original(bench_, CODE("call [" ARENA_DATA(0xf10) "]" THEN_EXIT), 6,
                                    bench_.start());
    expect_call_returns_to_original(bench_, CODE("call [rbx + 0xf10]" THEN_EXIT), 6,
                                    bench_.start());
    Machine machine = bench_.start();
    machine[Machine::R12] = 0xf10;
    expect_call_returns_to_original(bench_, CODE("call [rbx + r12]" THEN_EXIT), 4, machine);
    machine[Machine::R12] = bench_.arena().data();
    expect_call_returns_to_original(bench_, CODE("call [r12 + 0xf10]" THEN_EXIT), 8, machine);
}

}  // namespace
}  // namespace djprobe::x86
