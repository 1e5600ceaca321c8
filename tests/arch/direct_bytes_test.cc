// SPDX-License-Identifier: GPL-2.0
// What a detour with a direct call is made of: instruction by instruction, and how many run.
#include <gtest/gtest.h>

#include <algorithm>

#include "arch/x86/detour/detour.h"
#include "support/scene.h"

namespace djprobe::x86 {
namespace {

using test::Bytes;
using test::join;
using test::kText;
using test::little_endian;
using test::Scene;
using test::view;

constexpr u64 kSlot = kText + 0x100000;
constexpr u64 kProgram = kSlot + 0x1000, kSlow = kSlot + 0x2000, kResched = kSlot + 0x3000;
constexpr u64 kStats = kSlot + 0x4000;
constexpr RegisterSet kRaxOnly = register_bit(kRax);

const DirectConfig kConfig = {.program = kProgram,
                              .clobbers = kRaxOnly,
                              .context = 0,
                              .slow = kSlow,
                              .argument = 0x1122334455667788,
                              .active = 0x20010,
                              .mark = -128,
                              .preempt_count = 0x20018,
                              .hits = 0x20020,
                              .stats = kStats,
                              .resched = kResched,
                              .cs = 0x10,
                              .ss = 0x18,
                              .smap = true};

struct Emitted {
    Refusal refusal;
    DetourLayout layout;
    Bytes bytes;
};

/// For a site at the start of a function whose first instruction fills the jump.
Emitted emit(const DirectConfig& config, const Live& live) {
    static const Plan plan = Scene(CODE("mov eax, 0x12345678; ret")).plan(0);
    Emitted result{{}, {}, Bytes(kMaxDetour)};
    Span<u8> buffer{result.bytes.data(), result.bytes.size()};
    result.refusal = emit_direct_detour(plan, config, live, kSlot, buffer, result.layout);
    result.bytes.resize(result.layout.size);
    return result;
}

/// opcode, and the distance from the end of the instruction, which begins at `at`, to `target`.
Bytes relative(const Bytes& opcode, u64 target, size_t at, size_t trailing = 0) {
    return join(opcode, little_endian(target - (kSlot + at + opcode.size() + 4 + trailing), 4));
}

/// Appends instructions, so that relative ones know where they lie.
struct Listing {
    Bytes bytes;
    void add(const Bytes& more) { bytes = join(bytes, more); }
    void add_relative(const Bytes& opcode, u64 target, const Bytes& behind = {}) {
        add(join(relative(opcode, target, bytes.size(), behind.size()), behind));
    }
    void add_jump(const Bytes& opcode, size_t target) { add_relative(opcode, kSlot + target); }
};

TEST(DirectBytesTest, EveryInstructionOfTheLeanestDetour) {
    const Emitted detour = emit(kConfig, {register_bit(kRax) | register_bit(kRdi), false, false});
    ASSERT_FALSE(detour.refusal);
    constexpr size_t kJoin = 70, kRestore = 84, kSlowAt = 101, kReschedAt = 118;
    Listing expected;
    expected.add(join({0x68}, little_endian(kText + 1, 4)));  // push $IA+1
    expected.add(CODE("push rbp; mov rbp, rsp; push rax"));
    expected.add(CODE("inc dword ptr gs:[0x20018]; mov eax, dword ptr gs:[0x20010]"));
    expected.add_relative({0x0b, 0x05}, kStats);  // or stats(%rip), %eax
    expected.add_jump({0x0f, 0x85}, kSlowAt);     // jne slow
    expected.add(CODE("add dword ptr gs:[0x20010], -128"));
    expected.add_relative({0xe8}, kProgram);
    expected.add(
        CODE("sub dword ptr gs:[0x20010], -128;"
             "inc qword ptr gs:[0x20020]"));
    ASSERT_EQ(expected.bytes.size(), kJoin);
    expected.add(CODE("dec dword ptr gs:[0x20018]"));
    expected.add_jump({0x0f, 0x84}, kReschedAt);  // jz resched
    ASSERT_EQ(expected.bytes.size(), kRestore);
    expected.add(CODE("pop rax; pop rbp; lea rsp, [rsp + 8]"));
    EXPECT_EQ(detour.layout.displaced, expected.bytes.size());
    expected.add(CODE("mov eax, 0x12345678"));
    expected.add_relative({0xe9}, kText + 5);
    ASSERT_EQ(expected.bytes.size(), kSlowAt);
    expected.add(CODE("movabs rax, 0x1122334455667788"));
    expected.add_relative({0xe8}, kSlow);
    expected.add({0xeb, static_cast<u8>(kJoin - (expected.bytes.size() + 2))});
    ASSERT_EQ(expected.bytes.size(), kReschedAt);
    expected.add_relative({0xe8}, kResched);
    expected.add({0xeb, static_cast<u8>(kRestore - (expected.bytes.size() + 2))});
    EXPECT_EQ(detour.bytes, expected.bytes);
}

/// Instructions of the hot path, from the entry to the jump back, each as its bytes.
std::vector<Bytes> hot_path(const Emitted& detour) {
    std::vector<Bytes> path;
    const Code code = {kSlot, view(detour.bytes)};
    for (u64 at = kSlot + detour.layout.entry;;) {
        Insn insn;
        if (!decode(code.from(at), at, insn)) {
            ADD_FAILURE() << "undecodable at +" << at - kSlot;
            return path;
        }
        const Span<const u8> bytes = code.from(at).first(insn.length);
        path.emplace_back(bytes.begin(), bytes.end());
        if (insn.kind == Kind::Jump) return path;
        at = insn.end();
    }
}

size_t count(const std::vector<Bytes>& path, const Bytes& insn) {
    return static_cast<size_t>(std::count(path.begin(), path.end(), insn));
}

/// Instructions that a hit costs beside the program's and the displaced one: the site's jump, too.
size_t cost(const DirectConfig& config, const Live& live) {
    return hot_path(emit(config, live)).size() - 1 + 1;
}

constexpr RegisterSet kSixLive = 0x01c7 & ~register_bit(kRax);  // rcx rdx rsi rdi r8
constexpr Live kTypical = {kSixLive | kRaxOnly, false, false};

TEST(DirectCostTest, EmptyProgram) {
    EXPECT_LE(cost(kConfig, kTypical), 24u);
    EXPECT_LE(cost(kConfig, {kCallerSaved, true, false}), 26u);
}

TEST(DirectCostTest, CounterWithSixLiveRegisters) {
    DirectConfig config = kConfig;
    config.clobbers = kCallerSaved;
    ASSERT_EQ(__builtin_popcount(kTypical.registers), 6);
    EXPECT_LE(cost(config, kTypical), 34u);
}

TEST(DirectCostTest, WholeFrame) {
    DirectConfig config = kConfig;
    config.clobbers = kCallerSaved;
    config.context = kAllFields;
    EXPECT_LE(cost(config, {kCallerSaved, true, true}), 65u);
}

TEST(DirectCostTest, EachFieldOfTheContextTakesFewInstructions) {
    DirectConfig config = kConfig;
    config.clobbers = kRaxOnly | register_bit(kRdi);
    const size_t without = cost(config, kTypical);
    for (size_t i = 0; i < sizeof(Frame) / 8; ++i) {
        config.context = 1u << i;
        EXPECT_LE(cost(config, kTypical), without + 4) << i;
    }
}

TEST(DirectBytesTest, DeadFlagsAreNotTouched) {
    for (const FieldSet context : {FieldSet{0}, FieldSet{1}}) {
        DirectConfig config = kConfig;
        config.context = context;
        const auto dead = hot_path(emit(config, kTypical));
        EXPECT_EQ(count(dead, CODE("pushfq")) + count(dead, CODE("popfq")), 0u);
        const auto live = hot_path(emit(config, {kSixLive, true, false}));
        EXPECT_EQ(count(live, CODE("pushfq")), 1u);
        EXPECT_EQ(count(live, CODE("popfq")), 1u);
    }
}

TEST(DirectBytesTest, SystemFlagsAreSavedThenCleared) {
    for (const FieldSet context : {FieldSet{0}, FieldSet{1}, kAllFields}) {
        DirectConfig config = kConfig;
        config.context = context;
        const auto path = hot_path(emit(config, {kSixLive, false, true}));
        const auto saved = std::find(path.begin(), path.end(), CODE("pushfq"));
        const auto strings = std::find(saved, path.end(), CODE("cld"));
        const auto access = std::find(strings, path.end(), CODE("clac"));
        EXPECT_NE(access, path.end());
        EXPECT_EQ(count(path, CODE("popfq")), 1u);
        config.smap = false;
        const auto without = hot_path(emit(config, {kSixLive, false, true}));
        EXPECT_EQ(without.size(), path.size() - 1);
        EXPECT_EQ(count(without, CODE("clac")), 0u);
        // No instruction can have set them: there is nothing to clear.
        EXPECT_EQ(count(hot_path(emit(kConfig, kTypical)), CODE("cld")), 0u);
    }
}

TEST(DirectBytesTest, OnlyLiveAndChangedRegistersAreSaved) {
    DirectConfig config = kConfig;
    config.clobbers = 0x0f07;                                          // rax rcx rdx r8-r11
    const auto path = hot_path(emit(config, {0x00c3, false, false}));  // rax rcx rsi rdi
    EXPECT_EQ(count(path, CODE("push rax")), 1u);
    EXPECT_EQ(count(path, CODE("push rcx")), 1u);
    for (const Bytes& push :
         {CODE("push rdx"), CODE("push rsi"), CODE("push rdi"), CODE("push r8")})
        EXPECT_EQ(count(path, push), 0u);
}

TEST(DirectBytesTest, CounterOutOfADisplacementsReach) {
    DirectConfig config = kConfig;
    config.hits = 0x600000000010;
    const auto path = hot_path(emit(config, kTypical));
    EXPECT_EQ(count(path, CODE("movabs rax, 0x600000000010")), 1u);
    EXPECT_EQ(count(path, CODE("inc qword ptr gs:[rax]")), 1u);
    EXPECT_EQ(count(path, CODE("push rax")), 1u);
    config.clobbers = 0;
    EXPECT_EQ(count(hot_path(emit(config, kTypical)), CODE("push rax")), 1u);
    // Offsets may be negative.
    config.hits = -0x20;
    EXPECT_EQ(count(hot_path(emit(config, kTypical)), CODE("inc qword ptr gs:[-0x20]")), 1u);
}

TEST(DirectBytesTest, EveryByteDecodes) {
    for (const FieldSet context : {FieldSet{0}, FieldSet{0x15555}, kAllFields}) {
        DirectConfig config = kConfig;
        config.context = context;
        const Emitted detour = emit(config, {kCallerSaved, true, true});
        ASSERT_FALSE(detour.refusal);
        Insn insn;
        for (u64 at = kSlot; at < kSlot + detour.bytes.size(); at = insn.end())
            ASSERT_TRUE(decode(Code{kSlot, view(detour.bytes)}.from(at), at, insn)) << at - kSlot;
    }
}

TEST(DirectBytesTest, AWideCountTakesNoMoreInstructions) {
    DirectConfig config = kConfig;
    config.wide_preempt_count = true;
    const Emitted narrow = emit(kConfig, kTypical), wide = emit(config, kTypical);
    ASSERT_FALSE(wide.refusal);
    EXPECT_EQ(wide.bytes.size(), narrow.bytes.size() + 2);
    for (const Bytes& code :
         {CODE("inc qword ptr gs:[0x20018]"), CODE("dec qword ptr gs:[0x20018]")})
        EXPECT_FALSE(std::ranges::search(wide.bytes, code).empty());
}

TEST(DirectBytesTest, WhatIsTooFarAwayIsRefused) {
    constexpr u64 kFar = kSlot + 0x90000000;
    u64 DirectConfig::*const fields[] = {&DirectConfig::program, &DirectConfig::slow,
                                         &DirectConfig::stats, &DirectConfig::resched};
    for (const auto field : fields) {
        DirectConfig config = kConfig;
        config.*field = kFar;
        EXPECT_EQ(emit(config, kTypical).refusal.reason, Reason::OUT_OF_REACH);
    }
}

TEST(DirectBytesTest, SmallBufferIsRefusedNotOverrun) {
    const Plan plan = Scene(CODE("mov eax, 0x12345678; ret")).plan(0);
    const size_t needed = emit(kConfig, kTypical).layout.size;
    for (size_t size = 0; size < needed; ++size) {
        Bytes buffer(needed, 0xaa);
        DetourLayout layout;
        EXPECT_TRUE(
            emit_direct_detour(plan, kConfig, kTypical, kSlot, {buffer.data(), size}, layout));
        EXPECT_EQ(buffer[size], 0xaa) << size;
    }
}

TEST(DirectBytesTest, SizeDoesNotDependOnThePlace) {
    const Plan plan = Scene(CODE("mov eax, 0x12345678; ret")).plan(0);
    const size_t size = emit(kConfig, kTypical).layout.size;
    for (const u64 slot : {kText + 0x10, kText + 0x200000, kText - 0x100000}) {
        Bytes buffer(kMaxDetour);
        DetourLayout layout;
        EXPECT_FALSE(emit_direct_detour(plan, kConfig, kTypical, slot,
                                        {buffer.data(), buffer.size()}, layout));
        EXPECT_EQ(layout.size, size);
    }
}

TEST(DirectBytesTest, TypicalDetoursTakeAtMost200Bytes) {
    EXPECT_LE(emit(kConfig, kTypical).layout.size, 200);
    DirectConfig config = kConfig;
    config.clobbers = kCallerSaved;
    EXPECT_LE(emit(config, kTypical).layout.size, 200);
    config.clobbers = 0x00c7;
    config.context = field_bit(__builtin_offsetof(Frame, di));
    EXPECT_LE(emit(config, kTypical).layout.size, 200);
}

}  // namespace
}  // namespace djprobe::x86
