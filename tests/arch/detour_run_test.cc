// SPDX-License-Identifier: GPL-2.0
// Whole detours on the real CPU.
#include <gtest/gtest.h>

#include "support/detoured.h"
#include "support/printers.h"

namespace djprobe::x86 {
namespace {

using test::Arena;
using test::Bench;
using test::Bytes;
using test::Detoured;
using test::Hit;
using test::join;
using test::last_hit;
using test::Machine;

class DetourRunTest : public testing::TestWithParam<Arena::Place> {
  protected:
    Bench bench_{GetParam()};

    void expect_same(const Bytes& code, size_t site = 0) {
        Detoured detoured(bench_, code, site);
        for (int round = 0; round < 16; ++round)
            detoured.expect_same(bench_.start());
    }
    /// The handler's view of one run of `code` from `machine`, the site at its start.
    const Hit& hit(const Bytes& code, const Machine& machine) {
        Detoured detoured(bench_, code);
        detoured.write_jump();
        last_hit() = Hit{};
        bench_.run(machine, bench_.text());
        return last_hit();
    }
};

INSTANTIATE_TEST_SUITE_P(, DetourRunTest, testing::Values(Arena::Place::Low, Arena::Place::High),
                         [](const auto& info) {
                             return info.param == Arena::Place::Low ? "Low" : "High";
                         });

const Bytes kPlain = CODE("mov eax, 0x12345678; jmp " ARENA_EXIT);

// --- what the handler sees ---

TEST_P(DetourRunTest, FrameHoldsEveryGeneralRegister) {
    const Machine machine = bench_.start();
    const Frame& frame = hit(kPlain, machine).frame;
    EXPECT_EQ(frame.ax, machine[Machine::AX]);
    EXPECT_EQ(frame.cx, machine[Machine::CX]);
    EXPECT_EQ(frame.dx, machine[Machine::DX]);
    EXPECT_EQ(frame.bx, machine[Machine::BX]);
    EXPECT_EQ(frame.bp, machine[Machine::BP]);
    EXPECT_EQ(frame.si, machine[Machine::SI]);
    EXPECT_EQ(frame.di, machine[Machine::DI]);
    EXPECT_EQ(frame.r8, machine[Machine::R8]);
    EXPECT_EQ(frame.r9, machine[Machine::R9]);
    EXPECT_EQ(frame.r10, machine[Machine::R10]);
    EXPECT_EQ(frame.r11, machine[Machine::R11]);
    EXPECT_EQ(frame.r12, machine[Machine::R12]);
    EXPECT_EQ(frame.r13, machine[Machine::R13]);
    EXPECT_EQ(frame.r14, machine[Machine::R14]);
    EXPECT_EQ(frame.r15, machine[Machine::R15]);
}

TEST_P(DetourRunTest, FrameHoldsTheStackPointerOfTheSite) {
    for (const u64 misalignment : {0, 8, 4, 1}) {
        Machine machine = bench_.start();
        machine[Machine::SP] += misalignment;
        EXPECT_EQ(hit(kPlain, machine).frame.sp, machine[Machine::SP]);
    }
}

TEST_P(DetourRunTest, FrameHoldsTheFlagsOfTheSite) {
    for (const u64 flag : {u64{0}, +test::kCarry, +test::kParity, +test::kAdjust, +test::kZero,
                           +test::kSign, +test::kDirection, +test::kOverflow}) {
        Machine machine = bench_.start();
        machine.flags = 0x202 | flag;
        EXPECT_EQ(hit(kPlain, machine).frame.flags, machine.flags);
    }
}

TEST_P(DetourRunTest, FrameHoldsTheSiteAndTheEnvironment) {
    const Frame& frame = hit(kPlain, bench_.start()).frame;
    EXPECT_EQ(frame.ip, bench_.text());
    EXPECT_EQ(frame.cs, test::kCs);
    EXPECT_EQ(frame.ss, test::kSs);
    EXPECT_EQ(frame.orig_ax, ~0ul);
}

TEST_P(DetourRunTest, HandlerGetsItsArgument) {
    EXPECT_EQ(hit(kPlain, bench_.start()).argument, test::kArgument);
}

TEST_P(DetourRunTest, DirectionFlagIsClearInTheHandler) {
    Machine machine = bench_.start();
    machine.flags = 0x202 | test::kDirection;
    EXPECT_EQ(hit(kPlain, machine).flags & test::kDirection, 0u);
}

TEST_P(DetourRunTest, FrameRecordBelowTheSitesStackLeadsToTheCaller) {
    const Machine machine = bench_.start();
    const Hit& seen = hit(kPlain, machine);
    EXPECT_EQ(seen.record_address, machine[Machine::SP] - 16);
    EXPECT_EQ(seen.saved_bp, machine[Machine::BP]);
    EXPECT_EQ(seen.return_address, bench_.text() + 1);
}

TEST_P(DetourRunTest, FrameLiesRightBelowItsRecord) {
    const Hit& seen = hit(kPlain, bench_.start());
    EXPECT_EQ(seen.frame_address + sizeof(Frame), seen.record_address);
}

// --- what the code leaves ---

TEST_P(DetourRunTest, OneInstruction) {
    expect_same(kPlain);
}

TEST_P(DetourRunTest, EveryFlagSurvives) {
    Detoured detoured(bench_, kPlain);
    for (const u64 flag :
         {u64{0}, +test::kCarry, +test::kParity, +test::kAdjust, +test::kZero, +test::kSign,
          +test::kDirection, +test::kOverflow, test::kArithmeticFlags | test::kDirection}) {
        Machine machine = bench_.start();
        machine.flags = 0x202 | flag;
        detoured.expect_same(machine);
    }
}

TEST_P(DetourRunTest, FunctionEntry) {
    expect_same(CODE("push rbp; mov rbp, rsp; push r15; push r14; jmp " ARENA_EXIT));
}

TEST_P(DetourRunTest, FiveInstructionsOfOneByte) {
    expect_same(CODE("push rax; push rcx; pop rdx; stc; cdq; jmp " ARENA_EXIT));
}

TEST_P(DetourRunTest, LongestRegion) {
    // 1 + 1 + 1 + 1 + 15 bytes, the last one RIP-relative with prefixes and an immediate.
    expect_same(
        CODE("push rax; stc; cdq; lahf; .byte 0x65, 0x2e, 0x2e, 0x2e; mov qword ptr [" ARENA_DATA(
            0x20) "], 0x12345678; jmp " ARENA_EXIT));
}

TEST_P(DetourRunTest, SiteInTheMiddleOfAFunction) {
    expect_same(CODE("mov eax, 1; add rax, rcx; adc rdx, rsi; sbb rdi, r8; jmp " ARENA_EXIT), 8);
}

TEST_P(DetourRunTest, FlagsFlowFromBeforeTheSiteIntoTheRegion) {
    expect_same(CODE("cmp rax, rcx; setb dl; adc rsi, rdi; jmp " ARENA_EXIT), 3);
}

TEST_P(DetourRunTest, FlagsFlowFromTheRegionBehindIt) {
    expect_same(CODE("cmp rax, rcx; test cl, dl; setz r8b; jmp " ARENA_EXIT));
}

TEST_P(DetourRunTest, ConditionalJumpInTheMiddleLeavesEarly) {
    expect_same(CODE("test al, 1; jz 1f; inc rcx; jmp " ARENA_EXIT  //
                     "; 1: inc rdx; jmp " ARENA_EXIT));
}

TEST_P(DetourRunTest, FinalCallReturnsToTheOriginal) {
    const Bytes code = CODE("push rcx; call " ARENA_CALLEE "; jmp " ARENA_EXIT);
    expect_same(code);
    Detoured detoured(bench_, code);
    detoured.write_jump();
    EXPECT_EQ(Bench::word(bench_.run(bench_.start(), bench_.text()), Bench::kReturnAddress),
              bench_.text() + 6);
}

TEST_P(DetourRunTest, FinalIndirectCallReturnsToTheOriginal) {
    expect_same(CODE("push rcx; call [" ARENA_DATA(0xf10) "]; jmp " ARENA_EXIT));
}

TEST_P(DetourRunTest, ReturnWithFiller) {
    expect_same(CODE("inc rax; ret; int3; int3"));
}

TEST_P(DetourRunTest, TailJump) {
    expect_same(CODE("inc rax; jmp " ARENA_EXIT));
}

TEST_P(DetourRunTest, StackPointerMovesInTheRegion) {
    expect_same(CODE("sub rsp, 8; mov [rsp], rcx; jmp " ARENA_EXIT));
    expect_same(CODE("add rsp, 0x28; pop rcx; jmp " ARENA_EXIT));
}

TEST_P(DetourRunTest, LoopThatStartsAtTheSiteHitsEveryTime) {
    const Bytes code = CODE("1: inc rax; dec rcx; jnz 1b; jmp " ARENA_EXIT);
    Machine machine = bench_.start();
    machine[Machine::CX] = 10;
    Detoured detoured(bench_, code);
    const auto original = bench_.run(machine, bench_.text());
    detoured.write_jump();
    last_hit() = Hit{};
    EXPECT_TRUE(same(bench_.run(machine, bench_.text()), original));
    EXPECT_EQ(last_hit().count, 10u);
}

TEST_P(DetourRunTest, LoopWithinTheRegionHitsEveryTime) {
    const Bytes code = CODE("1: inc rax; loop 1b; jmp " ARENA_EXIT);
    Machine machine = bench_.start();
    machine[Machine::CX] = 10;
    Detoured detoured(bench_, code);
    const auto original = bench_.run(machine, bench_.text());
    detoured.write_jump();
    last_hit() = Hit{};
    EXPECT_TRUE(same(bench_.run(machine, bench_.text()), original));
    EXPECT_EQ(last_hit().count, 10u);
}

TEST_P(DetourRunTest, OutOfLineCopyOnlyRunsTheProbedInstruction) {
    // The second instruction is changed meanwhile, as by another patcher's probe: it must be run
    // where it is.
    const Bytes code = CODE("inc rax; inc rcx; jmp " ARENA_EXIT);
    Detoured detoured(bench_, code);
    bench_.arena().write(bench_.text() + 3, CODE("dec rcx"));
    Machine machine = bench_.start();
    const auto outcome = bench_.run(machine, detoured.out_of_line());
    EXPECT_EQ(outcome.machine[Machine::AX], machine[Machine::AX] + 1);
    EXPECT_EQ(outcome.machine[Machine::CX], machine[Machine::CX] - 1);
}

// --- tactics ---

/// A function that ends too close behind its last instructions for a window there.
const Bytes kCramped = CODE(
    "lea rdx, [rdx + 1]; xor rax, rdx; not edx; jmp 2f; mov eax, 0x12345678;"
    "2: jmp " ARENA_EXIT);

TEST_P(DetourRunTest, ASlideCallsTheHandlerBetweenTheRightInstructions) {
    for (const size_t site : {7, 9}) {  // the not, the jump
        Detoured detoured(bench_, kCramped, site);
        ASSERT_EQ(detoured.plan().tactic, Tactic::Slide);
        for (int round = 0; round < 16; ++round) {
            const Machine machine = bench_.start();
            detoured.expect_same(machine);
            // The registers are those at the IA: what ran before it has, what follows has not.
            const u64 dx = machine[Machine::DX] + 1;
            EXPECT_EQ(last_hit().frame.dx, site == 9 ? static_cast<u32>(~dx) : dx);
            EXPECT_EQ(last_hit().frame.ax, machine[Machine::AX] ^ dx);
        }
    }
}

TEST_P(DetourRunTest, ASlideCallsNoHandlerForWhomLeavesBeforeTheIa) {
    const Bytes brief = CODE("jz 2f; not edx; jmp 3f; 2: inc rcx; 3: jmp " ARENA_EXIT);
    Detoured over(bench_, brief, 4);
    ASSERT_EQ(over.plan().tactic, Tactic::Slide);
    ASSERT_EQ(over.plan().anchor, bench_.text());
    Machine machine = bench_.start();
    for (const bool leaves : {false, true}) {
        machine.flags = 0x202 | (leaves ? +test::kZero : 0);
        over.write_jump();
        last_hit() = Hit{};
        bench_.run(machine, bench_.text());
        EXPECT_EQ(last_hit().count, leaves ? 0u : 1u);
        over.write_original();
        over.expect_same(machine);
    }
}

TEST_P(DetourRunTest, ASlidesInt3AtTheAnchorResumesAtTheEntry) {
    Detoured detoured(bench_, kCramped, 9);
    ASSERT_EQ(detoured.plan().anchor, bench_.text() + 4);
    Machine machine = bench_.start();
    const auto original = bench_.run(machine, detoured.plan().anchor);
    last_hit() = Hit{};
    EXPECT_TRUE(same(bench_.run(machine, detoured.entry()), original));
    EXPECT_EQ(last_hit().count, 1u);
    EXPECT_EQ(last_hit().frame.ip, detoured.site());
}

TEST_P(DetourRunTest, ASpringboardLeadsToTheDetour) {
    const Bytes code =
        join(CODE("mov eax, ebx; 1: dec cl; jnz 1b; jmp " ARENA_EXIT), Bytes(8, kInt3));
    Detoured detoured(bench_, code, 0);
    ASSERT_EQ(detoured.plan().tactic, Tactic::Springboard);
    for (int round = 0; round < 16; ++round)
        detoured.expect_same(bench_.start());
}

}  // namespace
}  // namespace djprobe::x86
