// SPDX-License-Identifier: GPL-2.0
// What is live at a site, rule by rule.
#include "arch/x86/analysis/liveness.h"

#include <gtest/gtest.h>

#include "support/code.h"
#include "support/machine.h"

namespace djprobe::x86 {
namespace {

using test::Bytes;
using test::join;
using test::set;
using test::view;
using enum test::Machine::Register;

constexpr u64 kFunction = 0x10000;
constexpr u64 kCold = 0x20000;
constexpr Range kReturnThunks = {0x30000, 0x30040};
constexpr Range kIndirectThunks = {0x31000, 0x31100};

/// A C function, of which everything is known.
struct Function {
    Bytes code;
    Bytes cold = {};
    bool whole = true;
    bool standard_abi = true;
    bool has_fixups = false;
    std::vector<Rewritten> rewritten = {};
    bool (*is_compiled)(u64) = nullptr;

    Live live(size_t offset = 0, const Asked& asked = {}) const {
        return find_live({.function = {kFunction, view(code)},
                          .cold = {kCold, view(cold)},
                          .whole = whole,
                          .standard_abi = standard_abi,
                          .has_fixups = has_fixups,
                          .return_thunks = kReturnThunks,
                          .indirect_thunks = kIndirectThunks,
                          .rewritten = {rewritten.data(), rewritten.size()},
                          .is_compiled = is_compiled},
                         kFunction + offset, asked);
    }
    RegisterSet registers(size_t offset = 0) const { return live(offset).registers; }
    bool flags(size_t offset = 0) const { return live(offset).flags; }
};

/// `ends`, behind code that kills all registers but rdi and no flag.
void expect_end(const char* what, const Bytes& ends, RegisterSet registers, bool flags) {
    SCOPED_TRACE(what);
    const Function function{ends};
    EXPECT_EQ(function.registers(), registers);
    EXPECT_EQ(function.flags(), flags);
}

// --- what is asked ---

TEST(LivenessTest, WhatIsNotAskedCountsAsLive) {
    const Function function{CODE("xor eax, eax; mov ecx, 1; ret")};
    const Live live = function.live(0, {set(AX), false});
    EXPECT_EQ(live.registers, kCallerSaved & ~set(AX));
    EXPECT_FALSE(live.flags);
    EXPECT_TRUE(live.system_flags);
    EXPECT_FALSE(function.live(0, {0, true}).system_flags);
    // What is asked is answered as among all the rest.
    const Function other{CODE("mov rcx, rax; cmp rcx, 1; ret")};
    EXPECT_EQ(other.live(0, {set(AX), false}).registers, kCallerSaved);
}

// --- straight on ---

TEST(LivenessTest, ReadBeforeWrittenIsLive) {
    EXPECT_EQ(Function{CODE("mov rax, rcx; mov ecx, 1; mov edx, 2; ret")}.registers(), set(CX));
}

TEST(LivenessTest, PartlyWrittenStaysLive) {
    EXPECT_EQ(Function{CODE("mov al, 1; xor edx, edx; ret")}.registers(), set(AX));
}

TEST(LivenessTest, FlagsAreLiveUntilAllThatIsReadIsKilled) {
    EXPECT_TRUE(Function{CODE("jz 1f; 1: ret")}.flags());
    EXPECT_FALSE(Function{CODE("cmp rax, rcx; jz 1f; 1: ret")}.flags());
    EXPECT_TRUE(Function{CODE("inc rax; jb 1f; 1: ret")}.flags());
    EXPECT_FALSE(Function{CODE("inc rax; jz 1f; 1: ret")}.flags());
    EXPECT_TRUE(Function{CODE("mov rax, rcx; adc rax, 1; ret")}.flags());
}

TEST(LivenessTest, OnlyTheCallerSavedRegistersAreToldAbout) {
    EXPECT_EQ(Function{CODE("mov rax, rbx; mov rdx, r15; ret")}.registers(), 0);
}

// --- ends ---

TEST(LivenessTest, ReturnLeavesTwoRegistersAndNoFlags) {
    expect_end("ret", CODE("ret"), set(AX, DX), false);
    expect_end("return thunk", CODE("jmp 771b + 0x20010"), set(AX, DX), false);
    expect_end("conditional", CODE("test al, al; jz 771b + 0x20010; ret"), set(AX, DX), false);
}

TEST(LivenessTest, CallTakesAllRegistersAndNoFlags) {
    expect_end("direct", CODE("call 771b + 0x50000; ret"), kCallerSaved, false);
    expect_end("indirect", CODE("call [rip + 0x100]; ret"), kCallerSaved, false);
    expect_end("thunk", CODE("call 771b + 0x21000; ret"), kCallerSaved, false);
}

TEST(LivenessTest, CompiledCalleeTakesArgumentsOnly) {
    Function function{CODE("call 771b + 0x50000; mov rax, r11; ret")};
    function.is_compiled = [](u64 callee) { return callee == kFunction + 0x50000; };
    EXPECT_EQ(function.registers(), set(AX, CX, DX, SI, DI, R8, R9));
    EXPECT_FALSE(function.flags());
}

TEST(LivenessTest, OtherCalleesThanCompiledOnesMayReadAll) {
    Function function{CODE("call 771b + 0x60000; ret")};
    function.is_compiled = [](u64 callee) { return callee == kFunction + 0x50000; };
    EXPECT_EQ(function.registers(), kCallerSaved);
}

TEST(LivenessTest, AnEarlierBlockIsFollowedAgainForWhatALaterOneStillAsks) {
    // At 3 rax has been replaced when the first path comes; the second one comes later, with rax.
    EXPECT_EQ(Function{CODE("jz 2f; jmp 1f; 2: mov eax, 1; jb 3f; xor edx, edx; ret; 1: jmp 4f;"
                            "3: mov rcx, rax; xor eax, eax; xor edx, edx; ret; 4: jmp 3b")}
                      .registers() &
                  set(AX),
              set(AX));
}

TEST(LivenessTest, CallKillsNothing) {
    // A thunk that keeps registers, called by inline assembly; behind it rdi is read.
    EXPECT_EQ(Function{CODE("xor eax, eax; call 771b + 0x50000; mov rax, rdi; ret")}.registers(),
              kCallerSaved & ~set(AX));
}

TEST(LivenessTest, CallIntoItselfIsUnknown) {
    expect_end("next", CODE("call 1f; 1: pop rax; ret"), kCallerSaved, true);
}

TEST(LivenessTest, TailCallTakesAllRegistersAndNoFlags) {
    expect_end("direct", CODE("jmp 771b + 0x50000"), kCallerSaved, false);
    expect_end("thunk", CODE("jmp 771b + 0x21000"), kCallerSaved, false);
}

TEST(LivenessTest, JumpOutIsUnknownWhereAnotherPartMayBe) {
    Function function{CODE("jmp 771b + 0x50000")};
    function.whole = false;
    EXPECT_TRUE(function.flags());
    EXPECT_EQ(function.registers(), kCallerSaved);
    // But for thunks.
    function.code = CODE("jmp 771b + 0x21000");
    EXPECT_FALSE(function.flags());
    function.code = CODE("jmp 771b + 0x20000");
    EXPECT_FALSE(function.flags());
}

TEST(LivenessTest, ConditionalJumpOutIsUnknown) {
    expect_end("jcc", CODE("mov eax, 1; jz 771b + 0x50000; ret"), kCallerSaved & ~set(AX), true);
}

TEST(LivenessTest, IndirectJumpIsUnknown) {
    expect_end("register", CODE("jmp rax"), kCallerSaved, true);
    expect_end("table", CODE("jmp [rax*8 + 0x1000]"), kCallerSaved, true);
}

TEST(LivenessTest, TrapShowsEverything) {
    expect_end("int3", CODE("int3"), kCallerSaved, true);
    expect_end("ud1", CODE("ud1 eax, ecx; ret"), kCallerSaved, true);
}

TEST(LivenessTest, BehindAWarningAllGoesOn) {
    expect_end("warn", CODE("ud2; mov rax, rdi; ret"), set(DX, DI), false);
    expect_end("bug", CODE("ud2"), kCallerSaved, true);
}

TEST(LivenessTest, WhatCannotBeFollowedIsUnknown) {
    expect_end("off the end", CODE("nop"), kCallerSaved, true);
    expect_end("undecodable", CODE(".byte 0x06"), kCallerSaved, true);
    expect_end("hlt", CODE("hlt; ret"), kCallerSaved, true);
}

TEST(LivenessTest, SiteOutsideIsUnknown) {
    const Function function{CODE("ret")};
    EXPECT_EQ(function.registers(0x100), kCallerSaved);
    EXPECT_TRUE(function.flags(0x100));
}

// --- branches ---

TEST(LivenessTest, BothWaysOfABranch) {
    const Function function{
        CODE("test al, al; jz 1f; mov rax, rcx; mov rdx, rcx; ret;"
             "1: mov rax, rsi; mov rdx, rsi; ret")};
    EXPECT_EQ(function.registers(), set(AX, CX, SI));
    EXPECT_FALSE(function.flags());
    EXPECT_TRUE(function.flags(2));
}

TEST(LivenessTest, LoopIsFollowedOnce) {
    const Function function{CODE("1: add rax, r8; dec ecx; jnz 1b; mov rdx, r9; ret")};
    EXPECT_EQ(function.registers(), set(AX, CX, R8, R9));
    EXPECT_FALSE(function.flags());
}

TEST(LivenessTest, RegisterReadOnlyInTheNextRoundOfALoop) {
    // rsi is killed on the way to the back edge's source, but read at the loop's start.
    const Function function{
        CODE("1: mov rax, rsi; mov rsi, rdi; dec ecx; jnz 1b; mov edx, 1; ret")};
    EXPECT_EQ(function.registers(3), set(AX, CX, DI));
    EXPECT_EQ(function.registers(), set(SI, CX, DI));
}

TEST(LivenessTest, EntryOfALoopWithMoreUndecidedThanBefore) {
    // The first way to 2: has killed r8, the second has not.
    const Function function{
        CODE("test al, al; jz 1f; xor r8d, r8d; jmp 2f; 1: nop;"
             "2: mov rax, r8; xor edx, edx; ret")};
    EXPECT_EQ(function.registers(), set(AX, R8));
}

TEST(LivenessTest, CounterJumpsReadTheCounter) {
    EXPECT_EQ(Function{CODE("1: loop 1b; xor eax, eax; cdq; ret")}.registers(), set(CX));
    EXPECT_EQ(Function{CODE("jrcxz 1f; 1: xor eax, eax; cdq; ret")}.registers(), set(CX));
}

// --- other parts ---

TEST(LivenessTest, ColdPartIsFollowedAndBack) {
    Function function{CODE("test al, al; jz 771b + 0x10000; 1: xor eax, eax; cdq; ret")};
    EXPECT_EQ(function.registers(), kCallerSaved);
    EXPECT_TRUE(function.flags());
    // Back behind the jz, at +8.
    function.cold = CODE("mov r8, r9; jmp 771b - 0x10000 + 8");
    EXPECT_EQ(function.registers(), set(AX, R9));
    EXPECT_FALSE(function.flags());
}

// --- rewritten instructions ---

TEST(LivenessTest, JumpLabelLeadsBothWays) {
    // A nop now, a jump to 1: once it is enabled; and the other way round.
    Function nop{
        CODE("nop dword ptr [rax + rax]; xor eax, eax; cdq; ret; 1: mov rax, rsi; cdq; ret")};
    const size_t target = nop.code.size() - CODE("mov rax, rsi; cdq; ret").size();
    EXPECT_EQ(nop.registers(), 0);
    nop.rewritten = {{kFunction, Rewritten::Kind::Label, kFunction + target}};
    EXPECT_EQ(nop.registers(), set(SI));
    Function jump{CODE("jmp 1f; mov rax, rdi; cdq; ret; 1: mov rax, rsi; cdq; ret")};
    EXPECT_EQ(jump.registers(), set(SI));
    jump.rewritten = {{kFunction, Rewritten::Kind::Label, kFunction + 2 + 6}};
    EXPECT_EQ(jump.registers(), set(SI, DI));
}

TEST(LivenessTest, StaticCallIsACallWhateverItIsNow) {
    Function function{CODE("nop dword ptr [rax + rax]; xor eax, eax; cdq; ret")};
    EXPECT_EQ(function.registers(), 0);
    function.rewritten = {{kFunction, Rewritten::Kind::Call}};
    EXPECT_EQ(function.registers(), kCallerSaved);
    EXPECT_FALSE(function.flags());
}

TEST(LivenessTest, ConditionalStaticTailCallMayFallThrough) {
    Function function{CODE("jz 771b + 0x50000; mov eax, 1; jz 1f; nop; 1: ret")};
    function.rewritten = {{kFunction, Rewritten::Kind::Call}};
    EXPECT_EQ(function.registers(), kCallerSaved);
    EXPECT_TRUE(function.flags());
}

TEST(LivenessTest, UnknownRewritingLeavesEverythingLive) {
    Function function{CODE("xor eax, eax; cdq; ret")};
    function.rewritten = {{kFunction + 2, Rewritten::Kind::Unknown}};
    EXPECT_EQ(function.registers(), kCallerSaved & ~set(AX));
}

// --- preconditions ---

void expect_everything(const Live& live) {
    EXPECT_EQ(live.registers, kCallerSaved);
    EXPECT_TRUE(live.flags);
    EXPECT_TRUE(live.system_flags);
}

TEST(LivenessTest, WithoutTheStandardConventionEverythingIsLive) {
    Function function{CODE("xor eax, eax; cdq; ret")};
    function.standard_abi = false;
    expect_everything(function.live());
}

TEST(LivenessTest, WithFixupsEverythingIsLive) {
    Function function{CODE("xor eax, eax; cdq; ret")};
    function.has_fixups = true;
    expect_everything(function.live());
}

TEST(LivenessTest, SystemFlagsAnywhereInTheFunction) {
    EXPECT_FALSE(Function{CODE("xor eax, eax; ret; ud2; int3")}.live().system_flags);
    // Their bytes within another instruction mean nothing.
    EXPECT_FALSE(
        Function{CODE("mov eax, 0x9d000000; add eax, 0xcb010f00; ret")}.live().system_flags);
    for (const Bytes& code :
         {CODE("stac"), CODE("clac"), CODE("popfq"), CODE("std"), CODE("cld")}) {
        EXPECT_TRUE(Function{join(CODE("xor eax, eax; ret"), code)}.live().system_flags);
        EXPECT_TRUE((Function{CODE("ret"), code}.live().system_flags));
    }
    EXPECT_TRUE(Function{CODE("ret; .byte 0x06")}.live().system_flags);
}

// --- bounds ---

TEST(LivenessTest, TooManyBlocksLeaveTheUndecidedLive) {
    Bytes code;
    for (int i = 0; i < 100; ++i) {
        const Bytes block = CODE("test al, al; jz 1f; nop; 1:");
        code.insert(code.end(), block.begin(), block.end());
    }
    const Bytes end = CODE("xor eax, eax; cdq; ret");
    code.insert(code.end(), end.begin(), end.end());
    EXPECT_EQ(Function{code}.registers(), kCallerSaved);
    // Close to the end it is decided.
    EXPECT_EQ(Function{code}.registers(code.size() - end.size() - 5), set(AX));
}

TEST(LivenessTest, TooManyInstructionsLeaveTheUndecidedLive) {
    const Bytes end = CODE("xor eax, eax; cdq; ret");
    EXPECT_EQ(Function{join(Bytes(1000, 0x90), end)}.registers(), 0);
    EXPECT_EQ(Function{join(Bytes(2000, 0x90), end)}.registers(), kCallerSaved);
}

}  // namespace
}  // namespace djprobe::x86
