// SPDX-License-Identifier: GPL-2.0
#include "arch/x86/insn/decode.h"

#include <gtest/gtest.h>

#include "support/code.h"
#include "support/printers.h"
#include "support/scene.h"

namespace djprobe::x86 {
namespace {

using test::Bytes;
using test::kText;
using test::view;

/// The first instruction of `bytes`; a failed expectation when there is none.
Insn decoded(const Bytes& bytes) {
    Insn insn;
    EXPECT_TRUE(decode(view(bytes), kText, insn));
    return insn;
}

Kind kind(const Bytes& bytes) {
    return decoded(bytes).kind;
}

bool is_valid(const Bytes& bytes) {
    Insn insn;
    return decode(view(bytes), kText, insn);
}

// --- kinds ---

TEST(DecodeKindTest, OrdinaryInstructionsArePlain) {
    EXPECT_EQ(kind(CODE("mov rax, rbx")), Kind::Plain);
    EXPECT_EQ(kind(CODE("push rbp")), Kind::Plain);
    EXPECT_EQ(kind(CODE("leave")), Kind::Plain);
    EXPECT_EQ(kind(CODE("rep movsb")), Kind::Plain);
    EXPECT_EQ(kind(CODE("lock cmpxchg [rdi], rsi")), Kind::Plain);
    EXPECT_EQ(kind(CODE("vpaddd ymm0, ymm1, ymm2")), Kind::Plain);
    EXPECT_EQ(kind(CODE("cli")), Kind::Plain);
    EXPECT_EQ(kind(CODE("pause")), Kind::Plain);
}

TEST(DecodeKindTest, NopsOfAnyLengthAreNops) {
    EXPECT_EQ(kind({0x90}), Kind::Nop);
    EXPECT_EQ(kind({0x66, 0x90}), Kind::Nop);
    EXPECT_EQ(kind({0x0f, 0x1f, 0x44, 0x00, 0x00}), Kind::Nop);
    EXPECT_EQ(kind({0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0}), Kind::Nop);
}

// Kernel commit 8a5c6cbfe4a3: REX.B nop is xchg %r8, %rax.
TEST(DecodeKindTest, NopWithRexBIsAnExchange) {
    EXPECT_EQ(kind({0x41, 0x90}), Kind::Plain);
    EXPECT_EQ(kind({0x49, 0x90}), Kind::Plain);
    EXPECT_EQ(kind({0x48, 0x90}), Kind::Nop) << "without B it exchanges rax with itself";
}

TEST(DecodeKindTest, DirectJumps) {
    EXPECT_EQ(kind({0xeb, 0x00}), Kind::Jump);
    EXPECT_EQ(kind({0xe9, 0, 0, 0, 0}), Kind::Jump);
}

TEST(DecodeKindTest, EveryConditionIsAConditionalJump) {
    for (u8 condition = 0; condition < 16; ++condition) {
        EXPECT_EQ(kind({static_cast<u8>(0x70 | condition), 0x00}), Kind::CondJump) << +condition;
        EXPECT_EQ(kind({0x0f, static_cast<u8>(0x80 | condition), 0, 0, 0, 0}), Kind::CondJump)
            << +condition;
    }
}

TEST(DecodeKindTest, CounterJumps) {
    EXPECT_EQ(kind({0xe0, 0x00}), Kind::CounterJump);        // loopne
    EXPECT_EQ(kind({0xe1, 0x00}), Kind::CounterJump);        // loope
    EXPECT_EQ(kind({0xe2, 0x00}), Kind::CounterJump);        // loop
    EXPECT_EQ(kind({0xe3, 0x00}), Kind::CounterJump);        // jrcxz
    EXPECT_EQ(kind({0x67, 0xe3, 0x00}), Kind::CounterJump);  // jecxz
}

TEST(DecodeKindTest, CallsAndIndirectBranches) {
    EXPECT_EQ(kind({0xe8, 0, 0, 0, 0}), Kind::Call);
    EXPECT_EQ(kind(CODE("call rax")), Kind::IndirectCall);
    EXPECT_EQ(kind(CODE("call [rip + 8]")), Kind::IndirectCall);
    EXPECT_EQ(kind(CODE("jmp rax")), Kind::IndirectJump);
    EXPECT_EQ(kind(CODE("jmp [rax*8 + 64]")), Kind::IndirectJump);
    EXPECT_EQ(kind(CODE("notrack jmp rax")), Kind::IndirectJump);
}

TEST(DecodeKindTest, ReturnsWithPrefixAndStackAdjustment) {
    EXPECT_EQ(kind(CODE("ret")), Kind::Return);
    EXPECT_EQ(kind({0xf3, 0xc3}), Kind::Return);
    EXPECT_EQ(kind(CODE("ret 16")), Kind::Return);
}

TEST(DecodeKindTest, BreakpointIsNotAnotherTrap) {
    EXPECT_EQ(kind({0xcc}), Kind::Int3);
    EXPECT_EQ(kind({0xcd, 0x80}), Kind::Trap);        // int 0x80
    EXPECT_EQ(kind({0xcd, 0x03}), Kind::Trap);        // int 3, the long form
    EXPECT_EQ(kind({0xf1}), Kind::Trap);              // int1
    EXPECT_EQ(kind({0x0f, 0x0b}), Kind::Trap);        // ud2
    EXPECT_EQ(kind({0x0f, 0xb9, 0xc0}), Kind::Trap);  // ud1
    EXPECT_EQ(kind({0x0f, 0xff, 0xc0}), Kind::Trap);  // ud0
}

TEST(DecodeKindTest, LandingPadsAreNoNops) {
    EXPECT_EQ(kind(CODE("endbr64")), Kind::Endbr);
    EXPECT_EQ(kind(CODE("endbr32")), Kind::Endbr);
}

TEST(DecodeKindTest, InterruptShadows) {
    EXPECT_EQ(kind(CODE("sti")), Kind::InterruptShadow);
    EXPECT_EQ(kind({0x8e, 0xd0}), Kind::InterruptShadow);        // mov ss, eax
    EXPECT_EQ(kind({0x41, 0x8e, 0x10}), Kind::InterruptShadow);  // mov ss, [r8]
}

TEST(DecodeKindTest, OtherSegmentLoadsCastNoShadow) {
    EXPECT_EQ(kind({0x8e, 0xd8}), Kind::Plain);  // mov ds, eax
    EXPECT_EQ(kind({0x8e, 0xe0}), Kind::Plain);  // mov fs, eax
    EXPECT_EQ(kind({0x0f, 0xa1}), Kind::Plain);  // pop fs
    EXPECT_EQ(kind({0x8c, 0xd0}), Kind::Plain);  // mov eax, ss
}

TEST(DecodeKindTest, WhatLeavesTheFlowOfTheKernel) {
    EXPECT_EQ(kind(CODE("hlt")), Kind::SystemFlow);
    EXPECT_EQ(kind(CODE("mwait")), Kind::SystemFlow);
    EXPECT_EQ(kind(CODE("iretq")), Kind::SystemFlow);
    EXPECT_EQ(kind(CODE("sysretq")), Kind::SystemFlow);
    EXPECT_EQ(kind({0x48, 0x0f, 0x35}), Kind::SystemFlow);  // sysexit
    EXPECT_EQ(kind(CODE("syscall")), Kind::SystemFlow);
    EXPECT_EQ(kind(CODE("sysenter")), Kind::SystemFlow);
    EXPECT_EQ(kind(CODE("swapgs")), Kind::SystemFlow);
    EXPECT_EQ(kind(CODE("retfq")), Kind::SystemFlow);
    EXPECT_EQ(kind(CODE("vmlaunch")), Kind::SystemFlow);
    EXPECT_EQ(kind(CODE("vmcall")), Kind::SystemFlow);
    EXPECT_EQ(kind({0xff, 0x18}), Kind::SystemFlow);  // call far [rax]
    EXPECT_EQ(kind({0xff, 0x28}), Kind::SystemFlow);  // jmp far [rax]
}

// Kernel commit 004e8dce9c52: a kprobe behind the signature, or in it.
TEST(DecodeKindTest, AnEmulatedInstructionIsOneWithItsPrefix) {
    for (const std::vector<u8>& bytes :
         {std::vector<u8>{0x0f, 0x0b, 'x', 'e', 'n', 0x0f, 0xa2, 0x90},
          std::vector<u8>{0x0f, 0x0b, 'k', 'v', 'm', 0x0f, 0xa2, 0x90}}) {
        Insn insn;
        ASSERT_TRUE(decode({bytes.data(), bytes.size()}, 0x1000, insn));
        EXPECT_EQ(insn.length, 7);
        EXPECT_EQ(insn.kind, Kind::SystemFlow);
        EXPECT_EQ(kind({bytes[0], bytes[1]}), Kind::Trap);
        EXPECT_FALSE(decode({bytes.data(), 6}, 0x1000, insn));
    }
}

TEST(DecodeKindTest, Transactions) {
    EXPECT_EQ(kind({0xc7, 0xf8, 0, 0, 0, 0}), Kind::Transaction);  // xbegin
    EXPECT_EQ(kind(CODE("xend")), Kind::Transaction);
    EXPECT_EQ(kind(CODE("xabort 1")), Kind::Transaction);
}

// --- branch targets ---

// Kernel commit ae052e3ae095: a short displacement was read as unsigned.
TEST(DecodeTargetTest, ShortDisplacementIsSigned) {
    EXPECT_EQ(decoded({0xeb, 0x7f}).target, kText + 2 + 127);
    EXPECT_EQ(decoded({0xeb, 0x80}).target, kText + 2 - 128);
    EXPECT_EQ(decoded({0x74, 0xfe}).target, kText);
}

TEST(DecodeTargetTest, LongDisplacementIsSigned) {
    EXPECT_EQ(decoded({0xe8, 0xff, 0xff, 0xff, 0x7f}).target, kText + 5 + 0x7fffffff);
    EXPECT_EQ(decoded({0xe9, 0x00, 0x00, 0x00, 0x80}).target, kText + 5 - 0x80000000);
    EXPECT_EQ(decoded({0x0f, 0x84, 0xfa, 0xff, 0xff, 0xff}).target, kText);
}

TEST(DecodeTargetTest, DisplacementIsFoundBehindPrefixes) {
    const Insn insn = decoded({0x3e, 0x0f, 0x85, 0x10, 0, 0, 0});  // with a branch hint
    EXPECT_EQ(insn.rel_offset, 3);
    EXPECT_EQ(insn.rel_size, 4);
    EXPECT_EQ(insn.target, kText + 7 + 0x10);
}

TEST(DecodeTargetTest, FallbackAddressOfATransactionIsATarget) {
    const Insn insn = decoded({0xc7, 0xf8, 0x10, 0, 0, 0});
    EXPECT_EQ(insn.rel_size, 4);
    EXPECT_EQ(insn.target, kText + 6 + 0x10);
}

TEST(DecodeTargetTest, AnImmediateIsNoDisplacement) {
    EXPECT_EQ(decoded(CODE("mov eax, 0x12345678")).rel_size, 0);
    EXPECT_EQ(decoded(CODE("call [rip + 0x12345678]")).rel_size, 0);
}

TEST(DecodeTargetTest, BranchWithOperandSizePrefixIsImmovable) {
    EXPECT_TRUE(decoded({0x66, 0xe9, 0, 0, 0, 0, 0, 0}).immovable);
    EXPECT_TRUE(decoded({0x66, 0xeb, 0x00}).immovable);
    EXPECT_TRUE(decoded({0x66, 0x74, 0x00}).immovable);
    EXPECT_TRUE(decoded({0x66, 0xff, 0xd0}).immovable);
    EXPECT_TRUE(decoded({0x66, 0xff, 0xe0}).immovable);
    EXPECT_FALSE(decoded({0xeb, 0x00}).immovable);
}

// --- RIP-relative operands ---

TEST(DecodeRipTest, DisplacementEndsAPlainLoad) {
    const Insn insn = decoded(CODE("mov rax, [rip + 8]"));
    EXPECT_EQ(insn.rip_disp_offset, 3);
    EXPECT_EQ(insn.length, 7);
}

TEST(DecodeRipTest, ImmediatesFollowTheDisplacement) {
    EXPECT_EQ(decoded(CODE("cmp byte ptr [rip + 8], 1")).rip_disp_offset, 2);
    EXPECT_EQ(decoded(CODE("cmp byte ptr [rip + 8], 1")).length, 7);
    EXPECT_EQ(decoded(CODE("mov dword ptr [rip + 8], 0x12345678")).rip_disp_offset, 2);
    EXPECT_EQ(decoded(CODE("mov dword ptr [rip + 8], 0x12345678")).length, 10);
}

TEST(DecodeRipTest, VexAndEvex) {
    EXPECT_EQ(decoded(CODE("vmovdqu ymm0, [rip + 8]")).rip_disp_offset, 4);
    EXPECT_EQ(decoded(CODE("vpblendw xmm0, xmm1, [rip + 8], 3")).rip_disp_offset, 5);
    EXPECT_EQ(decoded(CODE("vmovdqu64 zmm0, [rip + 8]")).rip_disp_offset, 6);
}

TEST(DecodeRipTest, AbsoluteAndBasedOperandsAreNotRelative) {
    EXPECT_EQ(decoded(CODE("mov eax, ds:[0x1000]")).rip_disp_offset, 0);
    EXPECT_EQ(decoded(CODE("mov rax, [rbp + 0x1000]")).rip_disp_offset, 0);
    EXPECT_EQ(decoded(CODE("mov rax, [r13 + 0]")).rip_disp_offset, 0);
}

TEST(DecodeRipTest, EipRelativeIsImmovable) {
    EXPECT_TRUE(decoded(CODE("mov eax, [eip + 8]")).immovable);
    EXPECT_FALSE(decoded(CODE("mov eax, [ecx + 8]")).immovable);
    EXPECT_FALSE(decoded(CODE("mov eax, [rip + 8]")).immovable);
}

// --- operands on the stack ---

TEST(DecodeStackTest, OnlyRspIsTheStack) {
    EXPECT_TRUE(decoded(CODE("call [rsp + 8]")).stack_relative);
    EXPECT_TRUE(decoded(CODE("mov rax, [rsp]")).stack_relative);
    EXPECT_FALSE(decoded(CODE("call [r12 + 8]")).stack_relative);
    EXPECT_FALSE(decoded(CODE("call [rbp + 8]")).stack_relative);
    EXPECT_FALSE(decoded(CODE("call [rax + rbx]")).stack_relative);
}

TEST(DecodeStackTest, ACallOfTheStackPointerItselfCounts) {
    EXPECT_TRUE(decoded(CODE("call rsp")).stack_relative);
    EXPECT_FALSE(decoded(CODE("call r12")).stack_relative);
}

// --- broken bytes ---

TEST(DecodeInvalidTest, NothingAtAll) {
    EXPECT_FALSE(is_valid({}));
}

TEST(DecodeInvalidTest, EveryTruncationIsRefused) {
    const Bytes whole = CODE("mov dword ptr [rip + 8], 0x12345678");
    for (size_t length = 0; length < whole.size(); ++length)
        EXPECT_FALSE(is_valid(Bytes(whole.begin(), whole.begin() + length))) << length;
    EXPECT_TRUE(is_valid(whole));
}

TEST(DecodeInvalidTest, OpcodesThatLongModeLacks) {
    EXPECT_FALSE(is_valid({0x06, 0x90}));  // push es
    EXPECT_FALSE(is_valid({0x17, 0x90}));  // pop ss
    EXPECT_FALSE(is_valid({0xce, 0x90}));  // into
}

TEST(DecodeInvalidTest, SixteenBytesAreTooLong) {
    EXPECT_FALSE(is_valid(Bytes(15, 0x66)));
    Bytes longest(14, 0x66);
    longest.push_back(0x90);
    EXPECT_EQ(decoded(longest).length, 15);
    longest.insert(longest.begin(), 0x66);
    EXPECT_FALSE(is_valid(longest));
}

TEST(DecodeTest, XeonPhisMaskJumpsAreNoInstructions) {
    const Bytes jknzd = {0xc5, 0x64, 0x85, 0x24, 0xc5, 0xff, 0xff};
    Insn insn;
    EXPECT_FALSE(decode(test::view(jknzd), 0x1000, insn));
}

TEST(DecodeTest, KnightsCornersVectorInstructionsAreNoInstructions) {
    EXPECT_FALSE(is_valid({0xc5, 0x70, 0x95, 0xfa}));        // kandnr
    EXPECT_FALSE(is_valid({0xc5, 0xf8, 0x18, 0x60, 0xb8}));  // vprefetchenta
}

}  // namespace
}  // namespace djprobe::x86
