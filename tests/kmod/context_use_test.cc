// SPDX-License-Identifier: GPL-2.0
// What programs read of their context, rule by rule, and of compiled ones.
#include "arch/x86/analysis/context_use.h"

#include <bpf/libbpf.h>
#include <gtest/gtest.h>
#include <linux/bpf.h>

#include <memory>
#include <vector>

namespace djprobe::x86 {
namespace {

using Program = std::vector<BpfInsn>;

constexpr u32 kAll = (1u << 21) - 1;
constexpr int kDi = 112, kSi = 104, kIp = 128, kR15 = 0, kSs = 160, kOrigAx = 120;
constexpr i32 kHarmless = 0x1000, kNeedsContext = 0x2000;

constexpr u32 field(int offset) {
    return 1u << offset / 8;
}

BpfInsn insn(unsigned code, u8 dst, u8 src, short off, i32 imm) {
    return {static_cast<u8>(code), static_cast<u8>(dst & 15), static_cast<u8>(src & 15), off, imm};
}
BpfInsn move(u8 dst, u8 src) {
    return insn(BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0);
}
BpfInsn set(u8 dst, i32 value) {
    return insn(BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, value);
}
BpfInsn load(u8 dst, u8 src, int offset, unsigned size = BPF_DW) {
    return insn(BPF_LDX | BPF_MEM | size, dst, src, static_cast<short>(offset), 0);
}
BpfInsn store(u8 dst, int offset, u8 src) {
    return insn(BPF_STX | BPF_MEM | BPF_DW, dst, src, static_cast<short>(offset), 0);
}
BpfInsn call(i32 imm) {
    return insn(BPF_JMP | BPF_CALL, 0, 0, 0, imm);
}
BpfInsn jump(int distance) {
    return insn(BPF_JMP | BPF_JA, 0, 0, static_cast<short>(distance), 0);
}
BpfInsn jump_if_zero(u8 reg, int distance) {
    return insn(BPF_JMP | BPF_JEQ | BPF_K, reg, 0, static_cast<short>(distance), 0);
}
const BpfInsn kExit = insn(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);

ContextUse use_of(
    const Program& program, bool (*needs)(i32) = [](i32 imm) { return imm == kNeedsContext; }) {
    std::vector<ContextState> state(program.size(), 0xffff);
    return find_context_use({program.data(), program.size()}, {state.data(), state.size()}, needs);
}

void expect_fields(const Program& program, u32 fields) {
    const ContextUse use = use_of(program);
    EXPECT_EQ(use.fields, fields);
    EXPECT_FALSE(use.escapes);
}

void expect_escape(const Program& program) {
    const ContextUse use = use_of(program);
    EXPECT_TRUE(use.escapes);
    EXPECT_EQ(use.fields, kAll);
}

void expect_unknown(const Program& program) {
    const ContextUse use = use_of(program);
    EXPECT_TRUE(use.escapes && use.calls && use.needs_run_context);
    EXPECT_EQ(use.fields, kAll);
}

// --- reading ---

TEST(ContextUseTest, NothingRead) {
    const ContextUse use = use_of({set(0, 0), kExit});
    EXPECT_EQ(use.fields, 0u);
    EXPECT_FALSE(use.escapes || use.calls || use.needs_run_context);
}

TEST(ContextUseTest, FieldsReadThroughTheContext) {
    expect_fields({load(0, 1, kDi), load(2, 1, kSi), kExit}, field(kDi) | field(kSi));
    expect_fields({load(2, 1, kR15), load(0, 1, kSs), kExit}, field(kR15) | field(kSs));
}

TEST(ContextUseTest, PartOfAField) {
    for (const unsigned size : {BPF_B, BPF_H, BPF_W})
        expect_fields({load(0, 1, kDi + 4, size), kExit}, field(kDi));
    // Signed loads are read alike.
    expect_fields({insn(BPF_LDX | 0x80 | BPF_W, 0, 1, kDi, 0), kExit}, field(kDi));
}

TEST(ContextUseTest, ReadAcrossTwoFields) {
    expect_fields({load(0, 1, kSi + 4), kExit}, field(kSi) | field(kDi));
}

TEST(ContextUseTest, ReadsOfOtherMemoryDoNotCount) {
    expect_fields({set(2, 5), load(0, 2, kDi), load(0, 10, -8), kExit}, 0);
}

TEST(ContextUseTest, LoadedValueIsNotTheContext) {
    expect_fields({load(1, 1, kDi), load(0, 1, kSi), store(10, -8, 1), kExit}, field(kDi));
}

TEST(ContextUseTest, CopiesAreFollowed) {
    expect_fields({move(6, 1), set(1, 0), move(7, 6), load(0, 7, kIp), kExit}, field(kIp));
    // Register 11 hides constants.
    expect_fields({move(11, 1), load(0, 11, kIp), kExit}, field(kIp));
}

TEST(ContextUseTest, OverwrittenRegistersHoldItNoLonger) {
    expect_fields({set(1, 0), store(10, -8, 1), kExit}, 0);
    expect_fields(
        {insn(BPF_LD | BPF_IMM | BPF_DW, 1, 0, 0, 1), insn(0, 0, 0, 0, 0), store(10, -8, 1), kExit},
        0);
    expect_fields({insn(BPF_ALU | BPF_MOV | BPF_K, 1, 0, 0, 3), store(10, -8, 1), kExit}, 0);
}

TEST(ContextUseTest, SecondHalfOfALongConstantIsNoInstruction) {
    // Would be an unknown one.
    expect_fields(
        {insn(BPF_LD | BPF_IMM | BPF_DW, 2, 0, 0, 1), insn(0, 0, 0, 0, 0x7f), set(0, 0), kExit}, 0);
}

TEST(ContextUseTest, OutsideOfTheContextIsUnknown) {
    expect_unknown({load(0, 1, 168), kExit});
    expect_unknown({load(0, 1, 164), kExit});
    expect_unknown({load(0, 1, -8), kExit});
}

// --- flow ---

TEST(ContextUseTest, BothWaysOfABranch) {
    expect_fields({jump_if_zero(3, 2), load(0, 1, kDi), kExit, load(0, 1, kSi), kExit},
                  field(kDi) | field(kSi));
}

TEST(ContextUseTest, HeldOnOneWayIsHeldBehind) {
    expect_fields({set(2, 0), jump_if_zero(2, 1), move(2, 1), load(0, 2, kDi), kExit}, field(kDi));
}

TEST(ContextUseTest, LoopCarriesItBack) {
    // Only in the second round does register 2 hold it.
    expect_fields({set(2, 0), load(0, 2, kSi), move(2, 1), jump_if_zero(0, -3), kExit}, field(kSi));
}

TEST(ContextUseTest, JumpsAreFollowed) {
    expect_fields({jump(1), load(0, 1, kDi), load(0, 1, kSi), kExit}, field(kSi));
    expect_fields({insn(BPF_JMP32 | BPF_JA, 0, 0, 0, 1), load(0, 1, kDi), load(0, 1, kSi), kExit},
                  field(kSi));
    expect_fields({insn(BPF_JMP32 | BPF_JSGT | BPF_X, 3, 2, 1, 0), load(0, 1, kDi), kExit},
                  field(kDi));
}

TEST(ContextUseTest, WhatIsComparedIsThere) {
    expect_fields({insn(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 1, 0), set(0, 0), kExit}, field(kOrigAx));
    expect_fields({insn(BPF_JMP | BPF_JNE | BPF_X, 2, 1, 1, 0), set(0, 0), kExit}, field(kOrigAx));
    // The number of the source register means nothing in a comparison with a constant.
    expect_fields({insn(BPF_JMP | BPF_JNE | BPF_K, 2, 1, 1, 0), set(0, 0), kExit}, 0);
    expect_fields({move(6, 1), insn(BPF_JMP | BPF_JEQ | BPF_K, 6, 0, 1, 0), set(0, 0), kExit},
                  field(kOrigAx));
}

TEST(ContextUseTest, UnreachedCodeDoesNotCount) {
    expect_fields({set(0, 0), kExit, load(0, 1, kDi), kExit}, 0);
}

TEST(ContextUseTest, FlowOutOfTheProgramIsUnknown) {
    expect_unknown({set(0, 0)});
    expect_unknown({jump(5), kExit});
    expect_unknown({jump(-3), kExit});
}

// --- escapes ---

TEST(ContextUseTest, StoredToMemory) {
    expect_escape({store(10, -8, 1), kExit});
    expect_escape({insn(BPF_STX | BPF_ATOMIC | BPF_DW, 10, 1, -8, BPF_ADD), kExit});
}

TEST(ContextUseTest, WrittenThrough) {
    expect_escape({store(1, kDi, 0), kExit});
    expect_escape({insn(BPF_ST | BPF_MEM | BPF_DW, 1, 0, kDi, 0), kExit});
}

TEST(ContextUseTest, ComputedWith) {
    expect_escape({insn(BPF_ALU64 | BPF_ADD | BPF_K, 1, 0, 0, 8), load(0, 1, 0), kExit});
    expect_escape({move(2, 10), insn(BPF_ALU64 | BPF_ADD | BPF_X, 2, 1, 0, 0), kExit});
    expect_escape({insn(BPF_ALU | BPF_MOV | BPF_X, 2, 1, 0, 0), kExit});
    expect_escape({insn(BPF_ALU64 | BPF_MOV | BPF_X, 2, 1, 32, 0), kExit});
    expect_escape({insn(BPF_ALU64 | BPF_NEG, 1, 0, 0, 0), kExit});
    // A byte swap's source bit means something else.
    expect_fields({insn(BPF_ALU | BPF_END | BPF_TO_BE, 2, 1, 0, 16), kExit}, 0);
    expect_fields({insn(BPF_ALU64 | BPF_ADD | BPF_X, 2, 3, 0, 0), kExit}, 0);
}

TEST(ContextUseTest, HandedToAHelper) {
    expect_escape({call(kHarmless), kExit});
    expect_escape({move(3, 1), set(1, 0), call(kHarmless), kExit});
    EXPECT_TRUE(use_of({call(kHarmless), kExit}).calls);
    EXPECT_FALSE(use_of({call(kHarmless), kExit}).needs_run_context);
}

TEST(ContextUseTest, HelperWithoutTheContext) {
    const Program program = {move(6, 1), set(1, 0), call(kHarmless), load(0, 6, kDi), kExit};
    expect_fields(program, field(kDi));
    EXPECT_TRUE(use_of(program).calls);
}

TEST(ContextUseTest, ArgumentsAreGoneBehindACall) {
    expect_fields({move(2, 1), set(1, 0), set(2, 0), call(kHarmless), store(10, -8, 0),
                   store(10, -8, 5), kExit},
                  0);
}

TEST(ContextUseTest, HelperThatNeedsTheRunsContext) {
    EXPECT_TRUE(use_of({set(1, 0), call(kNeedsContext), kExit}).needs_run_context);
    // Known also behind an escape.
    EXPECT_TRUE(
        use_of({store(10, -8, 1), set(1, 0), call(kNeedsContext), kExit}).needs_run_context);
}

TEST(ContextUseTest, OtherCallsAreUnknown) {
    expect_unknown({set(1, 0), insn(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, 1), kExit, kExit});
    expect_unknown({set(1, 0), insn(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_KFUNC_CALL, 0, 1), kExit});
    expect_unknown({set(1, 0), insn(BPF_JMP | 0xf0, 0, 0, 0, 0), kExit});  // tail call
}

// --- what is not known ---

TEST(ContextUseTest, UnknownInstructions) {
    expect_unknown({insn(BPF_LD | BPF_ABS | BPF_W, 0, 0, 0, 0), kExit});
    expect_unknown({insn(BPF_LDX | 0xa0 | BPF_DW, 0, 2, 0, 0), kExit});
    expect_unknown({insn(BPF_STX | 0xa0 | BPF_DW, 10, 2, -8, 0), kExit});
    expect_unknown({insn(BPF_JMP | 0xe0, 0, 0, 0, 0), kExit});
    expect_unknown({insn(BPF_JMP32 | BPF_CALL, 0, 0, 0, 0), kExit});
    expect_unknown({insn(BPF_ALU64 | BPF_MOV | BPF_K, 12, 0, 0, 0), kExit});
}

TEST(ContextUseTest, KernelsOwnInstructions) {
    // A speculation barrier, and a load that survives a fault.
    expect_fields({insn(BPF_ST | 0xc0, 1, 0, 0, 0), set(0, 0), kExit}, 0);
    expect_fields({load(2, 1, kDi), insn(BPF_LDX | 0x20 | BPF_DW, 0, 2, 16, 0), kExit}, field(kDi));
    expect_unknown({insn(BPF_LDX | 0x20 | BPF_DW, 0, 1, 16, 0), kExit});
}

TEST(ContextUseTest, NoProgramOrTooLongAOne) {
    expect_unknown({});
    Program program(kMaxContextInsns, set(0, 0));
    program.back() = kExit;
    expect_fields(program, 0);
    program.insert(program.begin(), set(0, 0));
    expect_unknown(program);
}

TEST(ContextUseTest, TooLittleMemory) {
    const Program program = {set(0, 0), kExit};
    ContextState state[1];
    EXPECT_TRUE(find_context_use({program.data(), program.size()}, state, [](i32) {
                    return false;
                }).escapes);
}

// --- compiled programs ---

class CompiledTest : public testing::Test {
  protected:
    /// Helpers have their numbers in an object file.
    ContextUse use(const char* name) {
        libbpf_set_print(nullptr);
        const std::unique_ptr<bpf_object, decltype(&bpf_object__close)> object(
            bpf_object__open(DJPROBE_CONTEXT_PROGRAMS), bpf_object__close);
        const bpf_program* const program =
            object ? bpf_object__find_program_by_name(object.get(), name) : nullptr;
        if (!program) {
            ADD_FAILURE() << "no program " << name;
            return {};
        }
        const auto* const first = reinterpret_cast<const BpfInsn*>(bpf_program__insns(program));
        return use_of(Program(first, first + bpf_program__insn_cnt(program)),
                      [](i32 helper) { return helper == BPF_FUNC_get_attach_cookie; });
    }
};

TEST_F(CompiledTest, Empty) {
    EXPECT_EQ(use("empty").fields, 0u);
    EXPECT_FALSE(use("empty").escapes || use("empty").calls);
}

TEST_F(CompiledTest, CounterLooksAtNothing) {
    EXPECT_EQ(use("counter").fields, 0u);
    EXPECT_FALSE(use("counter").escapes || use("counter").needs_run_context);
    EXPECT_TRUE(use("counter").calls);
}

TEST_F(CompiledTest, FilterLooksAtOneArgument) {
    EXPECT_EQ(use("filter").fields, field(96));
    EXPECT_FALSE(use("filter").escapes);
}

TEST_F(CompiledTest, ReadsBehindACall) {
    EXPECT_EQ(use("late_read").fields, field(kDi) | field(kIp));
    EXPECT_FALSE(use("late_read").escapes);
}

TEST_F(CompiledTest, ContextForAHelper) {
    EXPECT_TRUE(use("hands_over").escapes);
    EXPECT_FALSE(use("hands_over").needs_run_context);
    EXPECT_TRUE(use("identity").needs_run_context);
}

TEST_F(CompiledTest, Subprogram) {
    EXPECT_TRUE(use("subprogram").escapes && use("subprogram").needs_run_context);
}

}  // namespace
}  // namespace djprobe::x86
