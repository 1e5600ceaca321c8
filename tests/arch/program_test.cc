// SPDX-License-Identifier: GPL-2.0
#include "arch/x86/insn/program.h"

#include <gtest/gtest.h>

#include "support/code.h"
#include "support/machine.h"

namespace djprobe::x86 {
namespace {

using test::Bytes;
using test::set;
using test::view;

constexpr u64 kCode = 0x1000;

using enum test::Machine::Register;

// --- what a function clobbers ---

constexpr Range kReturnThunks = {0x9000, 0x9040};

RegisterSet clobbers(const Bytes& code) {
    return find_clobbers({kCode, view(code)}, kReturnThunks);
}

TEST(ClobbersTest, EveryWrittenCallerSavedRegister) {
    EXPECT_EQ(clobbers(CODE("xor eax, eax; ret")), set(AX));
    EXPECT_EQ(clobbers(CODE("mov al, 1; mov rdi, [rsi]; cmovz r8, r9; ret")), set(AX, DI, R8));
}

TEST(ClobbersTest, SavedRegistersAreTrusted) {
    EXPECT_EQ(
        clobbers(CODE("push rbp; mov rbp, rsp; push rbx; push r13; mov rbx, rdi; xor eax, eax;"
                      "pop r13; pop rbx; leave; ret")),
        set(AX));
}

TEST(ClobbersTest, AnyCallClobbersAll) {
    EXPECT_EQ(clobbers(CODE("call 771b + 0x5000; ret")), kCallerSaved);
    EXPECT_EQ(clobbers(CODE("call rbx; ret")), kCallerSaved);
}

TEST(ClobbersTest, AnyJumpElsewhereClobbersAll) {
    EXPECT_EQ(clobbers(CODE("jmp 771b + 0x5000")), kCallerSaved);
    EXPECT_EQ(clobbers(CODE("jz 771b + 0x5000; ret")), kCallerSaved);
    EXPECT_EQ(clobbers(CODE("jmp rcx")), kCallerSaved);
}

TEST(ClobbersTest, ReturnThunkIsAReturn) {
    EXPECT_EQ(clobbers(CODE("xor eax, eax; jmp 771b + 0x8020")), set(AX));
}

TEST(ClobbersTest, JumpsWithinAreNotFollowed) {
    EXPECT_EQ(clobbers(CODE("jz 1f; mov ecx, 1; 1: ret")), set(CX));
}

TEST(ClobbersTest, FillerBehindTheEnd) {
    EXPECT_EQ(clobbers(CODE("xor eax, eax; ret; int3; int3")), set(AX));
}

TEST(ClobbersTest, UndecodableClobbersAll) {
    EXPECT_EQ(clobbers(CODE("xor eax, eax; .byte 0x06; ret")), kCallerSaved);
    EXPECT_EQ(clobbers(Bytes{0x48}), kCallerSaved);
}

TEST(ClobbersTest, UnknownClobbersAll) {
    EXPECT_EQ(clobbers(CODE("ud2")), kCallerSaved);
    EXPECT_EQ(clobbers(CODE("syscall; ret")), kCallerSaved);
}

// --- where a program begins ---

TEST(BodyTest, BehindWhatTheKernelPatches) {
    const Bytes nop = {0x0f, 0x1f, 0x44, 0, 0};
    const Bytes body = CODE("xor eax, eax; ret"), endbr = CODE("endbr64");
    const auto find = [](const Bytes& code) { return find_body({kCode, view(code)}) - kCode; };
    EXPECT_EQ(find(test::join(nop, body)), 5u);
    EXPECT_EQ(find(test::join(endbr, nop, body)), 9u);
    // In the place of what programs with tail calls begin with.
    EXPECT_EQ(find(test::join(nop, Bytes{0x66, 0x90}, body)), 7u);
    EXPECT_EQ(find(test::join(endbr, nop, Bytes{0x0f, 0x1f, 0x00}, body)), 12u);
    EXPECT_EQ(find(test::join(nop, nop, body)), 5u);
    EXPECT_EQ(find(body), 0u);
    EXPECT_EQ(find(test::join(endbr, body)), 0u);
    // A tracer is attached already; its call counts as the program's.
    EXPECT_EQ(find(test::join(CODE("call 771b + 0x5000"), body)), 0u);
    EXPECT_EQ(find(test::join({0x66, 0x90}, body)), 0u);
    EXPECT_EQ(find({}), 0u);
}

}  // namespace
}  // namespace djprobe::x86
