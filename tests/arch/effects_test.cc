// SPDX-License-Identifier: GPL-2.0
// What single instructions read, write and replace.
#include "arch/x86/insn/effects.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "support/code.h"
#include "support/machine.h"

namespace djprobe::x86 {
namespace {

using test::Bytes;
using test::set;
using test::view;

constexpr u64 kCode = 0x1000;

Effects of(const Bytes& code) {
    Insn insn;
    EXPECT_TRUE(decode(view(code), kCode, insn));
    EXPECT_EQ(insn.length, code.size());
    return find_effects(insn, view(code));
}

using enum test::Machine::Register;

// --- registers ---

struct RegisterCase {
    const char* name;
    Bytes code;
    RegisterSet reads, writes, kills;
};

class EffectsRegisterTest : public testing::TestWithParam<RegisterCase> {};

TEST_P(EffectsRegisterTest, ReadsWritesAndKills) {
    const RegisterCase& expected = GetParam();
    const Effects effects = of(expected.code);
    // No caller asks about the stack pointer.
    const auto rest = static_cast<RegisterSet>(~set(SP));
    EXPECT_EQ(effects.reads & rest, expected.reads);
    EXPECT_EQ(effects.writes & rest, expected.writes);
    EXPECT_EQ(effects.kills & rest, expected.kills);
}

const RegisterCase kRegisterCases[] = {
    {"Mov64Kills", CODE("mov rax, rcx"), set(CX), set(AX), set(AX)},
    {"Mov32KillsAsItZeroExtends", CODE("mov r8d, edx"), set(DX), set(R8), set(R8)},
    {"Mov16KeepsTheRest", CODE("mov ax, cx"), set(CX), set(AX), 0},
    {"Mov8KeepsTheRest", CODE("mov al, cl"), set(CX), set(AX), 0},
    {"HighBytesBelongToTheirRegister", CODE("mov ah, dh"), set(DX), set(AX), 0},
    {"Constant", CODE("mov eax, 5"), 0, set(AX), set(AX)},
    {"MovZeroExtended", CODE("movzx esi, dil"), set(DI), set(SI), set(SI)},
    {"ReadModifyWriteReads", CODE("add rax, rcx"), set(AX, CX), set(AX), set(AX)},
    {"CompareWritesNothing", CODE("cmp rax, rcx"), set(AX, CX), 0, 0},
    {"XorOfOneRegisterReadsNothing", CODE("xor eax, eax"), 0, set(AX), set(AX)},
    {"SubOfOneRegisterReadsNothing", CODE("sub r9, r9"), 0, set(R9), set(R9)},
    {"XorOfAByteKeepsTheRest", CODE("xor al, al"), set(AX), set(AX), 0},
    {"XorOfTwoRegistersReadsBoth", CODE("xor eax, ecx"), set(AX, CX), set(AX), set(AX)},
    {"SbbOfOneRegisterReadsIt", CODE("sbb eax, eax"), set(AX), set(AX), set(AX)},
    {"Load", CODE("mov rax, [rcx + rdx*8 + 4]"), set(CX, DX), set(AX), set(AX)},
    {"Store", CODE("mov [rcx + rdx*8], rax"), set(AX, CX, DX), 0, 0},
    {"LeaReadsItsAddress", CODE("lea rax, [rcx + rdx]"), set(CX, DX), set(AX), set(AX)},
    {"RipRelative", CODE("mov rax, [rip + 0x100]"), 0, set(AX), set(AX)},
    {"CmovMayKeep", CODE("cmovz rax, rcx"), set(CX), set(AX), 0},
    {"Set", CODE("setz al"), 0, set(AX), 0},
    {"Exchange", CODE("xchg rax, rcx"), set(AX, CX), set(AX, CX), set(AX, CX)},
    {"ExchangeAdd", CODE("lock xadd [rdi], rax"), set(AX, DI), set(AX), set(AX)},
    {"CompareExchange", CODE("lock cmpxchg [rdi], rcx"), set(AX, CX, DI), set(AX), 0},
    {"Multiply", CODE("mul rcx"), set(AX, CX), set(AX, DX), set(AX, DX)},
    {"Divide", CODE("div ecx"), set(AX, CX, DX), set(AX, DX), set(AX, DX)},
    {"SignExtend", CODE("cdq"), set(AX), set(DX), set(DX)},
    {"ShiftByCl", CODE("shl rdx, cl"), set(CX, DX), set(DX), set(DX)},
    {"Push", CODE("push r11"), set(R11), 0, 0},
    {"Pop", CODE("pop r11"), 0, set(R11), set(R11)},
    {"Bswap", CODE("bswap rax"), set(AX), set(AX), set(AX)},
    {"BitScanKeepsForAZeroSource", CODE("bsf eax, ecx"), set(CX), set(AX), 0},
    {"CountZerosMayBeABitScan", CODE("tzcnt rax, rcx"), set(CX), set(AX), 0},
    {"StringStore", CODE("stosq"), set(AX, DI), set(DI), set(DI)},
    {"RepeatedLoadMayLoadNothing", CODE("rep lodsq"), set(CX, SI), set(AX, CX, SI), 0},
    {"RepeatMayDoNothing", CODE("rep movsb"), set(CX, SI, DI), set(CX, SI, DI), 0},
    {"NopReadsNothing", CODE("nop dword ptr [rax + rcx]"), 0, 0, 0},
    {"Rdtsc", CODE("rdtsc"), 0, set(AX, DX), set(AX, DX)},
    {"LoopCounts", CODE("loop 771b"), set(CX), set(CX), set(CX)},
    {"JrcxzReads", CODE("jrcxz 771b"), set(CX), 0, 0},
    {"VectorToGeneral", CODE("movq rax, xmm1"), 0, set(AX), set(AX)},
    {"SegmentBaseIsNoRegister", CODE("mov rax, gs:[0x10]"), 0, set(AX), set(AX)},
    {"CalleeSavedToo", CODE("mov rbx, r15"), set(R15), set(BX), set(BX)},
};

INSTANTIATE_TEST_SUITE_P(, EffectsRegisterTest, testing::ValuesIn(kRegisterCases),
                         [](const auto& info) { return info.param.name; });

TEST(EffectsTest, OfWhatLeavesTheFlowNothingIsKnown) {
    for (const Bytes& code :
         {CODE("ud2"), CODE("int3"), CODE("hlt"), CODE("iretq"), CODE("xlatb"), CODE("rdsspq rax"),
          CODE("vmcall"), CODE("vmmcall"), CODE("in eax, dx"), CODE("out dx, al"), CODE("rep insb"),
          CODE("rep outsd"), CODE(".byte 0xf2, 0x0f, 0x01, 0xfd"),
          CODE(".byte 0xf3, 0x0f, 0x01, 0xfd")}) {
        const Effects effects = of(code);
        EXPECT_EQ(effects.reads, kAllRegisters);
        EXPECT_EQ(effects.kills, 0);
        EXPECT_EQ(effects.flags_read, kStatusFlags);
        EXPECT_EQ(effects.flags_killed, 0);
        EXPECT_TRUE(effects.system_flags);
    }
}

// --- flags ---

struct FlagCase {
    const char* name;
    Bytes code;
    u16 read, killed;
};

class EffectsFlagTest : public testing::TestWithParam<FlagCase> {};

TEST_P(EffectsFlagTest, ReadsAndKills) {
    const FlagCase& expected = GetParam();
    const Effects effects = of(expected.code);
    EXPECT_EQ(effects.flags_read, expected.read);
    EXPECT_EQ(effects.flags_killed, expected.killed);
}

constexpr u16 kNoAdjust = kStatusFlags & ~test::kAdjust;
constexpr u16 kNoCarry = kStatusFlags & ~test::kCarry;

const FlagCase kFlagCases[] = {
    {"MovTouchesNone", CODE("mov rax, rcx"), 0, 0},
    {"LeaTouchesNone", CODE("lea rax, [rax + 1]"), 0, 0},
    {"CompareKillsAll", CODE("cmp rax, rcx"), 0, kStatusFlags},
    {"TestLeavesOneUndefined", CODE("test rax, rax"), 0, kNoAdjust},
    {"IncKeepsCarry", CODE("inc rax"), 0, kNoCarry},
    {"AdcReadsCarry", CODE("adc rax, rcx"), test::kCarry, kStatusFlags},
    {"JumpIfBelow", CODE("jb 771b"), test::kCarry, 0},
    {"JumpIfGreater", CODE("jg 771b"), test::kZero | test::kSign | test::kOverflow, 0},
    {"CmovReads", CODE("cmovz rax, rcx"), test::kZero, 0},
    {"SetReads", CODE("sets al"), test::kSign, 0},
    {"ShiftByClMayKeep", CODE("shl rax, cl"), 0, 0},
    {"ShiftByAConstant", CODE("shl rax, 1"), 0,
     test::kCarry | test::kParity | test::kZero | test::kSign},
    {"Shift32By32Keeps", CODE(".byte 0xc1, 0xe0, 0x20"), 0, 0},
    {"ShiftByZeroKeeps", CODE(".byte 0x48, 0xc1, 0xe0, 0x40"), 0, 0},
    {"RotateKillsCarry", CODE("rol eax, 3"), 0, test::kCarry},
    {"BitScan", CODE("bsf eax, ecx"), 0, test::kZero},
    {"CountZerosMayBeABitScan", CODE("tzcnt eax, ecx"), 0, test::kZero},
    {"PopcntKillsAll", CODE("popcnt eax, ecx"), 0, kStatusFlags},
    {"BitTest", CODE("bt eax, 3"), 0, test::kCarry},
    {"RepeatMayDoNothing", CODE("repe cmpsb"), test::kZero, 0},
    {"PushfReadsAll", CODE("pushfq"), kStatusFlags, 0},
    {"PopfKillsAll", CODE("popfq"), 0, kStatusFlags},
    {"Lahf", CODE("lahf"), kStatusFlags & ~test::kOverflow, 0},
    {"Sahf", CODE("sahf"), 0, kStatusFlags & ~test::kOverflow},
    {"DivideLeavesThemUndefined", CODE("div rcx"), 0, 0},
};

INSTANTIATE_TEST_SUITE_P(, EffectsFlagTest, testing::ValuesIn(kFlagCases),
                         [](const auto& info) { return info.param.name; });

TEST(EffectsTest, WhatChangesAcOrDf) {
    for (const Bytes& code : {CODE("stac"), CODE("clac"), CODE("std"), CODE("cld"), CODE("popfq")})
        EXPECT_TRUE(of(code).system_flags);
    for (const Bytes& code :
         {CODE("cli"), CODE("sti"), CODE("pushfq"), CODE("stc"), CODE("rep movsb")})
        EXPECT_FALSE(of(code).system_flags);
}

/// Of rdi.
bool reads(const Bytes& code, i32 displacement, u32 size, u8 base = kRdi) {
    return reads_memory(test::view(code), base, displacement, size);
}

TEST(ReadsMemoryTest, TheBytesOfItsOperandByItsRegister) {
    const Bytes load = CODE("mov eax, [rdi + 0x18]");
    EXPECT_TRUE(reads(load, 0x18, 4));
    EXPECT_TRUE(reads(load, 0x1a, 2));
    EXPECT_FALSE(reads(load, 0x18, 8));
    EXPECT_FALSE(reads(load, 0x17, 4));
    EXPECT_FALSE(reads(load, 0x1c, 1));
    EXPECT_FALSE(reads(load, 0x18, 4, kRsi));
    for (const Bytes& code :
         {CODE("add [rdi - 8], rax"), CODE("cmp qword ptr [rdi - 8], 5"), CODE("push [rdi - 8]"),
          CODE("call [rdi - 8]"), CODE("lock xadd [rdi - 8], rcx"), CODE("imul rax, [rdi - 8]"),
          CODE("test byte ptr [rdi - 8], 1; nop")})
        EXPECT_TRUE(reads(code, -8, 1));
    EXPECT_TRUE(reads(CODE("mov rax, [r12]"), 0, 8, 12));
    EXPECT_TRUE(reads(CODE("mov rax, [rsp + 0x20]"), 0x20, 8, 4));
}

TEST(ReadsMemoryTest, NotWhatItOnlyNamesOrMayLeaveAlone) {
    for (const Bytes& code :
         {CODE("lea rax, [rdi]"), CODE("prefetcht0 [rdi]"), CODE("nop dword ptr [rdi]"),
          CODE("rep movsb"), CODE("stosq"), CODE("mov rax, gs:[rdi]"), CODE("mov rax, fs:[rdi]"),
          CODE("mov rax, [rdi + rcx]"), CODE("mov rax, [edi]"), CODE("mov rax, rdi"),
          CODE("mov [rdi], rax"), CODE("mov dword ptr [rdi], 1"), CODE("bt [rdi], rax"),
          CODE("invlpg [rdi]"), CODE("clflush [rdi]"), CODE("mov rax, [rip]"), CODE("pop rax"),
          Bytes{0x48, 0x8b}})
        EXPECT_FALSE(reads(code, 0, 1)) << int{code[0]};
}

bool is_same(const Effects& a, const Effects& b) {
    return a.reads == b.reads && a.writes == b.writes && a.kills == b.kills &&
           a.flags_read == b.flags_read && a.flags_killed == b.flags_killed &&
           a.system_flags == b.system_flags;
}

// Most of these share an entry of the memo with others, and many come again.
TEST(EffectsMemoTest, SaysWhatFindEffectsSays) {
    const auto memo = std::make_unique<EffectsMemo>();
    std::minstd_rand random(1);
    const Bytes some = CODE("lea rax, [rcx + rdx]; xor eax, eax; rep movsb; shl rax, 1");
    for (int round = 0; round < 200'000; ++round) {
        Bytes code(15);
        for (auto& byte : code)
            byte = static_cast<u8>(random() % 4 ? some[random() % some.size()] : random() >> 8);
        Insn insn;
        if (!decode(view(code), kCode, insn)) continue;
        ASSERT_TRUE(is_same(memo->find(insn, view(code)), find_effects(insn, view(code))))
            << testing::PrintToString(code);
    }
}

}  // namespace
}  // namespace djprobe::x86
