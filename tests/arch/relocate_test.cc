// SPDX-License-Identifier: GPL-2.0
// The bytes of relocated instructions, and what cannot be relocated.
#include "arch/x86/detour/relocate.h"

#include <gtest/gtest.h>

#include "support/code.h"
#include "support/printers.h"
#include "support/scene.h"

namespace djprobe::x86 {
namespace {

using test::Bytes;
using test::join;
using test::kText;
using test::view;

constexpr u64 kNear = kText + 0x1000;
constexpr u64 kFar = kText + 0x80000000 + 0x1000;  // beyond what a displacement can span

struct Relocated {
    Refusal refusal;
    Bytes bytes;
};

Relocated relocated(const Bytes& code, u64 to = kNear, u64 from = kText) {
    Insn insn;
    EXPECT_TRUE(decode(view(code), from, insn));
    Bytes buffer(64);
    Emitter out({buffer.data(), buffer.size()}, to);
    const Refusal refusal = relocate(insn, view(code), out);
    buffer.resize(out.size());
    return {refusal, buffer};
}

TEST(RelocateTest, PlaceIndependentInstructionIsCopied) {
    const Bytes code = CODE("mov [rsp + 8], r15");
    EXPECT_EQ(relocated(code).bytes, code);
    EXPECT_EQ(relocated(code, kFar).bytes, code);
}

TEST(RelocateTest, AReturnGoesThroughTheThunkWhereThereIsOne) {
    const auto through_thunk = [](const Bytes& code) {
        Insn insn;
        EXPECT_TRUE(decode(view(code), kText, insn));
        Bytes buffer(64);
        Emitter out({buffer.data(), buffer.size()}, kNear);
        out.return_through(kNear + 0x105);
        const Refusal refusal = relocate(insn, view(code), out);
        buffer.resize(out.size());
        return Relocated{refusal, buffer};
    };
    EXPECT_EQ(relocated({0xc3}).bytes, Bytes({0xc3, kInt3}));
    EXPECT_EQ(through_thunk({0xc3}).bytes, Bytes({0xe9, 0, 1, 0, 0}));
    EXPECT_EQ(through_thunk({0xf3, 0xc3}).bytes, Bytes({0xe9, 0, 1, 0, 0}));
    // The thunk takes nothing off the stack.
    EXPECT_EQ(through_thunk({0xc2, 8, 0}).refusal, Refusal(Reason::NOT_RELOCATABLE, kText));
    EXPECT_EQ(through_thunk({0x90}).bytes, Bytes({0x90}));
}

TEST(RelocateTest, OnlyTheInstructionIsCopied) {
    EXPECT_EQ(relocated(CODE("push rbp; mov rbp, rsp")).bytes, CODE("push rbp"));
}

TEST(RelocateTest, AnInt3StopsSpeculationBehindReturnsAndIndirectJumps) {
    for (const Bytes& code : {CODE("ret"), CODE("jmp rax"), CODE("jmp [rsp + 8]")})
        EXPECT_EQ(relocated(code).bytes, join(code, Bytes{kInt3})) << +code[0];
    const Bytes call = relocated(CODE("call rax")).bytes;
    EXPECT_EQ(Bytes(call.end() - 3, call.end()), CODE("jmp rax; int3"));
}

TEST(RelocateTest, ImmediateBehindTheDisplacementIsKept) {
    // Moved up by 0x1000: the operand is 0x1000 less far.
    EXPECT_EQ(relocated(CODE("cmp dword ptr [rip + 0x2000], 0x12345678")).bytes,
              CODE("cmp dword ptr [rip + 0x1000], 0x12345678"));
    EXPECT_EQ(relocated(CODE("cmp byte ptr [rip + 0x2000], 0x12")).bytes,
              CODE("cmp byte ptr [rip + 0x1000], 0x12"));
}

TEST(RelocateTest, ShortConditionalJumpBecomesNear) {
    const Relocated copy = relocated({0x74, 0x10});
    EXPECT_EQ(copy.bytes.size(), 6u);
    EXPECT_EQ(copy.bytes[0], 0x0f);
    EXPECT_EQ(copy.bytes[1], 0x84);
}

// Kernel commit 8924779df820: jng was relocated as jnle.
TEST(RelocateTest, JngKeepsItsCondition) {
    EXPECT_EQ(relocated({0x7e, 0x10}).bytes[1], 0x8e);
    EXPECT_EQ(relocated({0x7c, 0x10}).bytes[1], 0x8c);
}

TEST(RelocateTest, CallPushesTheOriginalReturnAddress) {
    const Bytes copy = relocated({0xe8, 0, 1, 0, 0}).bytes;
    ASSERT_EQ(copy.size(), 10u);
    EXPECT_EQ(Bytes(copy.begin(), copy.begin() + 5), (Bytes{0x68, 0x05, 0x00, 0x00, 0x81}));
    EXPECT_EQ(copy[5], 0xe9);
}

TEST(RelocateTest, AReturnAddressThatNoPushHoldsIsPushedInHalves) {
    const u64 user = 0x7fff12345678;
    const Bytes copy = relocated({0xe8, 0, 1, 0, 0}, user + 0x1000, user).bytes;
    ASSERT_EQ(copy.size(), 18u);
    EXPECT_EQ(Bytes(copy.begin(), copy.begin() + 13),
              (Bytes{0x68, 0x7d, 0x56, 0x34, 0x12,  //
                     0xc7, 0x44, 0x24, 0x04, 0xff, 0x7f, 0x00, 0x00}));
}

TEST(RelocateTest, OperandOutOfReach) {
    EXPECT_EQ(relocated(CODE("mov rax, [rip + 8]"), kFar).refusal,
              Refusal(Reason::OUT_OF_REACH, kText));
    EXPECT_EQ(relocated(CODE("mov rax, [rip + 0x2000]"), kFar).refusal, Refusal())
        << "what counts is the distance from the operand";
}

TEST(RelocateTest, BranchOutOfReach) {
    const Refusal refusal(Reason::OUT_OF_REACH, kText);
    EXPECT_EQ(relocated({0xeb, 0x00}, kFar).refusal, refusal);
    EXPECT_EQ(relocated({0x74, 0x00}, kFar).refusal, refusal);
    EXPECT_EQ(relocated({0xe2, 0x00}, kFar).refusal, refusal);
    EXPECT_EQ(relocated({0xe8, 0, 0, 0, 0}, kFar).refusal, refusal);
}

TEST(RelocateTest, ReachEndsExactlyAtTwoGib) {
    const Bytes jump = {0xe9, 0, 0, 0, 0};  // to kText + 5
    EXPECT_EQ(relocated(jump, kText + 0x80000000).refusal, Refusal());
    EXPECT_EQ(relocated(jump, kText + 0x80000001).refusal, Refusal(Reason::OUT_OF_REACH, kText));
    EXPECT_EQ(relocated(jump, kText - 0x7fffffff).refusal, Refusal());
    EXPECT_EQ(relocated(jump, kText - 0x80000000).refusal, Refusal(Reason::OUT_OF_REACH, kText));
}

TEST(RelocateTest, BufferTooSmallIsNoOverflow) {
    Insn insn;
    const Bytes code = CODE("mov eax, 0x12345678");
    ASSERT_TRUE(decode(view(code), kText, insn));
    Bytes buffer(5, 0xaa);
    Emitter out({buffer.data(), 4}, kNear);
    EXPECT_TRUE(relocate(insn, view(code), out));
    EXPECT_EQ(buffer[4], 0xaa);
}

TEST(RelocateTest, WhatThePlanRefusesIsNotRelocatable) {
    for (const Bytes& code : {CODE("int3"), CODE("ud2"), CODE("endbr64"), CODE("hlt"),
                              CODE("iretq"), CODE(".byte 0xc7, 0xf8, 0, 0, 0, 0")})
        EXPECT_EQ(relocated(code).refusal, Refusal(Reason::NOT_RELOCATABLE, kText)) << +code[0];
}

TEST(RelocateTest, LongestFormFitsTheBound) {
    // An indirect call of 15 bytes, from where a return address takes two instructions to push.
    const Bytes call =
        CODE(".byte 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e; call [r8 + r9 + 0x12345678]");
    ASSERT_EQ(call.size(), 15u);
    EXPECT_EQ(relocated(call, 0x7fff12346000, 0x7fff12345000).bytes.size(), kMaxRelocated);
}

}  // namespace
}  // namespace djprobe::x86
