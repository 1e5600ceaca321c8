// SPDX-License-Identifier: GPL-2.0
// Programs under direct call on the real CPU.
#include <gtest/gtest.h>

#include <random>

#include "support/direct.h"
#include "support/handler.h"
#include "support/printers.h"
#include "support/random_code.h"

namespace djprobe::x86 {
namespace {

using test::Arena;
using test::Bench;
using test::Bytes;
using test::differences;
using test::DirectBench;
using test::frame_of;
using test::Machine;
using test::PerCpu;
using test::Seen;
using test::set;
using enum Machine::Register;

constexpr Live kAllLive = {kCallerSaved, true, false};
constexpr Live kNothingLive = {0, false, false};

class DirectTest : public testing::TestWithParam<Arena::Place> {
  protected:
    /// A function whose only site is its start; it does nothing.
    static const Bytes& plain() {
        static const Bytes code = CODE("nop dword ptr [rax + rax]; jmp " ARENA_EXIT);
        return code;
    }

    /// Put a direct detour for the site at `offset` of `code` and write the jump.
    void detour(const Bytes& code, const DirectConfig& config, const Live& live,
                size_t offset = 0) {
        bench_.put(code);
        Snapshot snapshot;
        snapshot.site = bench_.text() + offset;
        snapshot.function = {bench_.text(), test::view(code)};
        snapshot.tactics = kAllTactics;
        ASSERT_EQ(make_plan(snapshot, plan_), Refusal());
        ASSERT_EQ(plan_.jump, Refusal());
        Bytes bytes(kMaxDetour, kInt3);
        const u64 slot = bench_.arena().slot();
        ASSERT_EQ(
            emit_direct_detour(plan_, config, live, slot, {bytes.data(), bytes.size()}, layout_),
            Refusal());
        bench_.arena().write(slot, bytes);
        PatchSite patch, board;
        ASSERT_EQ(make_jump_site(plan_, slot + layout_.entry, patch), Refusal());
        if (plan_.tactic == Tactic::Springboard) {
            ASSERT_EQ(make_board(plan_, slot + layout_.entry, board), Refusal());
            bench_.arena().write(board.address, {board.jump, board.length});
        }
        bench_.arena().write(patch.address, {patch.jump, patch.length});
    }

    Machine run(const Machine& machine) { return bench_.run(machine, bench_.text()).machine; }

    Bench bench_{GetParam()};
    DirectBench direct_{bench_};
    Plan plan_;
    DetourLayout layout_;
};

INSTANTIATE_TEST_SUITE_P(, DirectTest, testing::Values(Arena::Place::Low, Arena::Place::High),
                         [](const auto& info) {
                             return info.param == Arena::Place::Low ? "Low" : "High";
                         });

// --- the guard ---

TEST_P(DirectTest, ProgramRunsUnderTheGuard) {
    detour(plain(), direct_.config(kCallerSaved, 0), kAllLive);
    const PerCpu before = direct_.per_cpu();
    run(bench_.start());
    const Seen& seen = direct_.program();
    EXPECT_EQ(seen.count, 1u);
    EXPECT_EQ(seen.per_cpu.active, before.active + test::kMark);
    EXPECT_EQ(seen.per_cpu.preempt_count, before.preempt_count + 1);
    PerCpu after = before;
    after.hits = 1;
    EXPECT_EQ(direct_.per_cpu(), after);
    EXPECT_EQ(direct_.slow().count, 0u);
    EXPECT_EQ(direct_.resched().count, 0u);
}

TEST_P(DirectTest, AFunctionGetsItsArgumentAndRsiIsKept) {
    constexpr FieldSet kStack = field_bit(__builtin_offsetof(Frame, sp));
    // With few clobbers nothing else would save rsi.
    for (const RegisterSet clobbers : {register_bit(kRax), kCallerSaved}) {
        direct_.reset();
        DirectConfig config = direct_.config(clobbers, kStack);
        config.takes_argument = true;
        detour(plain(), config, kAllLive);
        const Machine machine = bench_.start();
        EXPECT_EQ(run(machine)[SI], machine[SI]);
        EXPECT_EQ(direct_.program().argument, test::kArgument);
        EXPECT_EQ(direct_.program().frame.sp, machine[SP]);
    }
}

TEST_P(DirectTest, AnotherProgramOnThisCpuTakesTheSlowPath) {
    detour(plain(), direct_.config(kCallerSaved, 0), kAllLive);
    direct_.per_cpu().active = 1;
    const PerCpu before = direct_.per_cpu();
    run(bench_.start());
    EXPECT_EQ(direct_.program().count, 0u);
    EXPECT_EQ(direct_.slow().count, 1u);
    EXPECT_EQ(direct_.slow().argument, test::kArgument);
    EXPECT_EQ(direct_.slow().per_cpu.preempt_count, before.preempt_count + 1);
    EXPECT_EQ(direct_.slow().per_cpu.active, 1u);
    EXPECT_EQ(direct_.per_cpu(), before);
}

TEST_P(DirectTest, StatisticsTakeTheSlowPathWithTheContext) {
    detour(plain(), direct_.config(kCallerSaved, kAllFields), kAllLive);
    direct_.set_stats(true);
    const Machine machine = bench_.start();
    run(machine);
    EXPECT_EQ(direct_.program().count, 0u);
    EXPECT_EQ(direct_.slow().count, 1u);
    EXPECT_EQ(differences(direct_.slow().frame, frame_of(machine, bench_.text()), kAllFields), 0u);
}

TEST_P(DirectTest, DueRescheduleIsDone) {
    detour(plain(), direct_.config(kCallerSaved, 0), kAllLive);
    direct_.per_cpu().preempt_count = 0;
    run(bench_.start());
    EXPECT_EQ(direct_.program().count, 1u);
    EXPECT_EQ(direct_.resched().count, 1u);
    EXPECT_EQ(direct_.resched().per_cpu.preempt_count, 0u);
    EXPECT_EQ(direct_.resched().per_cpu.active, 0u);
    EXPECT_EQ(direct_.per_cpu().hits, 1u);
}

TEST_P(DirectTest, AWideCountTellsInItsLastBit) {
    DirectConfig config = direct_.config(kCallerSaved, 0);
    test::use_wide_count(config);
    detour(plain(), config, kAllLive);
    const u64 before = direct_.per_cpu().wide_preempt_count;
    run(bench_.start());
    EXPECT_EQ(direct_.program().per_cpu.wide_preempt_count, before + 1);
    EXPECT_EQ(direct_.per_cpu().wide_preempt_count, before);
    EXPECT_EQ(direct_.resched().count, 0u) << "none is due";
    direct_.per_cpu().wide_preempt_count = 0;
    run(bench_.start());
    EXPECT_EQ(direct_.resched().count, 1u);
    EXPECT_EQ(direct_.resched().per_cpu.wide_preempt_count, 0u);
}

TEST_P(DirectTest, RescheduleAfterTheSlowPath) {
    detour(plain(), direct_.config(kCallerSaved, 0), kAllLive);
    direct_.per_cpu().preempt_count = 0;
    direct_.per_cpu().active = 1;
    run(bench_.start());
    EXPECT_EQ(direct_.slow().count, 1u);
    EXPECT_EQ(direct_.resched().count, 1u);
}

TEST_P(DirectTest, WhatThereIsNotIsNotTouched) {
    DirectConfig config = direct_.config(kCallerSaved, 0);
    config.preempt_count = 0;
    config.hits = 0;
    config.stats = config.resched = 0;
    detour(plain(), config, kAllLive);
    direct_.set_stats(true);
    const PerCpu before = direct_.per_cpu();
    run(bench_.start());
    EXPECT_EQ(direct_.program().count, 1u);
    EXPECT_EQ(direct_.program().per_cpu.preempt_count, before.preempt_count);
    EXPECT_EQ(direct_.per_cpu(), before);
}

TEST_P(DirectTest, TheDetourDoesNotRescheduleWhereItMayNot) {
    DirectConfig config = direct_.config(kCallerSaved, 0);
    config.resched = 0;
    detour(plain(), config, kAllLive);
    direct_.per_cpu().preempt_count = 0;
    run(bench_.start());
    EXPECT_EQ(direct_.resched().count, 0u);
    EXPECT_EQ(direct_.per_cpu().preempt_count, 0u);
}

TEST_P(DirectTest, CounterFarFromTheSegment) {
    DirectConfig config = direct_.config(set(DX), 0);
    direct_.move_hits_away(config);
    detour(plain(), config, kAllLive);
    const Machine machine = bench_.start();
    EXPECT_EQ(difference(run(machine), machine), "");
    EXPECT_EQ(direct_.far_hits(), 1u);
    EXPECT_EQ(direct_.per_cpu().hits, 0u);
}

// --- the context ---

TEST_P(DirectTest, EachFieldAlone) {
    const Machine machine = bench_.start();
    const Frame expected = frame_of(machine, bench_.text());
    for (size_t i = 0; i < sizeof(Frame) / 8; ++i) {
        detour(plain(), direct_.config(kCallerSaved, 1u << i), kAllLive);
        EXPECT_EQ(difference(run(machine), machine), "") << i;
        EXPECT_EQ(differences(direct_.program().frame, expected, 1u << i), 0u) << i;
    }
}

TEST_P(DirectTest, WholeFrame) {
    const Machine machine = bench_.start();
    detour(plain(), direct_.config(0, kAllFields), kAllLive);
    EXPECT_EQ(difference(run(machine), machine), "");
    const Seen& seen = direct_.program();
    EXPECT_EQ(differences(seen.frame, frame_of(machine, bench_.text()), kAllFields), 0u);
    EXPECT_EQ(seen.context + sizeof(Frame), seen.record_address);
}

TEST_P(DirectTest, FrameOfASlideIsThatOfItsSite) {
    const Bytes code = CODE(
        "lea rdx, [rdx + 1]; xor rax, rdx; not edx; jmp 2f; mov eax, 0x12345678;"
        "2: jmp " ARENA_EXIT);
    detour(code, direct_.config(kCallerSaved, kAllFields), kAllLive, 9);
    ASSERT_EQ(plan_.tactic, Tactic::Slide);
    const Machine machine = bench_.start();
    run(machine);
    EXPECT_EQ(direct_.program().frame.dx, static_cast<u32>(~(machine[DX] + 1)));
    EXPECT_EQ(direct_.program().frame.ip, bench_.text() + 9);
}

TEST_P(DirectTest, SpringboardLeadsToTheDetour) {
    const Bytes code =
        test::join(CODE("mov eax, ebx; 1: dec cl; jnz 1b; jmp " ARENA_EXIT), Bytes(8, kInt3));
    detour(code, direct_.config(kCallerSaved, 0), kAllLive);
    ASSERT_EQ(plan_.tactic, Tactic::Springboard);
    run(bench_.start());
    EXPECT_EQ(direct_.program().count, 1u);
}

// --- unwinders ---

TEST_P(DirectTest, RecordLeadsToTheCaller) {
    for (const FieldSet context :
         {FieldSet{0}, field_bit(__builtin_offsetof(Frame, di)), kAllFields}) {
        detour(plain(), direct_.config(kCallerSaved, context), kAllLive);
        const Machine machine = bench_.start();
        for (const bool busy : {false, true}) {
            direct_.reset();
            direct_.per_cpu().active = busy;
            direct_.per_cpu().preempt_count = 0;
            run(machine);
            for (const Seen* seen :
                 {busy ? &direct_.slow() : &direct_.program(), &direct_.resched()}) {
                EXPECT_EQ(seen->record_address, machine[SP] - 16);
                EXPECT_EQ(seen->saved_bp, machine[BP]);
                EXPECT_EQ(seen->return_address, bench_.text() + 1);
            }
        }
    }
}

// --- flags ---

TEST_P(DirectTest, DirectionIsClearInTheProgramWhereItMayBeSet) {
    detour(plain(), direct_.config(kCallerSaved, 0), {kCallerSaved, false, true});
    Machine machine = bench_.start();
    machine.flags = 0x202 | test::kDirection | test::kCarry;
    EXPECT_EQ(difference(run(machine), machine), "");
    EXPECT_EQ(direct_.program().flags & test::kDirection, 0u);
}

TEST_P(DirectTest, DeadFlagsAreNotSaved) {
    for (const FieldSet context : {FieldSet{0}, field_bit(__builtin_offsetof(Frame, di))}) {
        detour(plain(), direct_.config(kCallerSaved, context), {kCallerSaved, false, false});
        const Machine machine = bench_.start();
        EXPECT_NE(run(machine).flags, machine.flags);
    }
}

// --- everything at random ---

TEST_P(DirectTest, WhatIsLiveSurvivesWhateverHappens) {
    std::mt19937_64 random(GetParam() == Arena::Place::Low);
    size_t changed = 0;
    for (int round = 0; round < 4000 && !HasFailure(); ++round) {
        const Live live = {static_cast<RegisterSet>(random() & kCallerSaved), random() % 2 == 0,
                           random() % 4 == 0};
        const auto clobbers = static_cast<RegisterSet>(random() & kCallerSaved);
        const FieldSet kinds[] = {0, kAllFields, static_cast<FieldSet>(random() & kAllFields),
                                  1u << random() % 21};
        const FieldSet context = kinds[random() % 4];
        DirectConfig config = direct_.config(clobbers, context);
        const bool far = random() % 4 == 0;
        if (far) direct_.move_hits_away(config);
        detour(plain(), config, live);

        direct_.reset();
        const bool stats = random() % 4 == 0, due = random() % 2;
        direct_.set_stats(stats);
        direct_.per_cpu().active = random() % 4 == 0;
        if (due) direct_.per_cpu().preempt_count = 0;
        PerCpu expected = direct_.per_cpu();
        const bool slow = stats || expected.active;
        expected.hits = !slow && !far;

        Machine start = bench_.start();
        if (!live.system_flags) start.flags &= ~u64{test::kDirection};
        const Machine end = run(start);
        SCOPED_TRACE(testing::Message() << "round " << round);
        changed += test::expect_kept(start, end, live.registers);
        if (live.flags || live.system_flags) {
            EXPECT_EQ(end.flags, start.flags);
        }
        EXPECT_EQ(direct_.per_cpu(), expected);
        EXPECT_EQ(direct_.far_hits(), !slow && far);
        EXPECT_EQ(direct_.program().count, !slow);
        EXPECT_EQ(direct_.slow().count, slow);
        EXPECT_EQ(direct_.resched().count, due);
        const Seen& seen = slow ? direct_.slow() : direct_.program();
        EXPECT_EQ(differences(seen.frame, frame_of(start, bench_.text()), context), 0u);
        if (live.system_flags) {
            EXPECT_EQ(seen.flags & test::kDirection, 0u);
        }
    }
    // Else it has saved what it need not, and the rest proves little.
    EXPECT_GT(changed, 4000u);
}

}  // namespace
}  // namespace djprobe::x86
