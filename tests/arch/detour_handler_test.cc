// SPDX-License-Identifier: GPL-2.0
// Handlers that continue elsewhere, and handlers behind the probed instruction, on the real CPU.
#include <gtest/gtest.h>

#include <random>

#include "arch/x86/detour/patch.h"
#include "support/handler.h"
#include "support/printers.h"
#include "support/random_code.h"

namespace djprobe::x86 {
namespace {

using test::Arena;
using test::Bench;
using test::Bytes;
using test::Hit;
using test::last_hit;
using test::Machine;
using enum Machine::Register;

constexpr u64 kAfter = 0x8877665544332211;

/// Where handlers continue; handlers are plain functions.
u64 elsewhere;

class DetourHandlerTest : public testing::TestWithParam<Arena::Place> {
  protected:
    DetourHandlerTest() { elsewhere = bench_.text() + 0x80; }
    ~DetourHandlerTest() override { test::set_edit(nullptr); }

    /// Put a detour for the site at `offset` of `code`. False when it gets none.
    bool detour(Bench& bench, const Bytes& code, DetourConfig config, size_t offset = 0) {
        bench.put(code);
        Snapshot snapshot;
        snapshot.site = bench.text() + offset;
        snapshot.function = {bench.text(), test::view(code)};
        snapshot.tactics = kAllTactics;
        EXPECT_EQ(make_plan(snapshot, plan_), Refusal());
        Bytes bytes(kMaxDetour, kInt3);
        if (plan_.jump ||
            emit_detour(plan_, config, bench.arena().slot(), {bytes.data(), bytes.size()}, layout_))
            return false;
        bench.arena().write(bench.arena().slot(), bytes);
        return true;
    }
    void write_jump(Bench& bench) {
        PatchSite patch, board;
        EXPECT_EQ(make_jump_site(plan_, bench.arena().slot() + layout_.entry, patch), Refusal());
        if (plan_.tactic == Tactic::Springboard) {
            EXPECT_EQ(make_board(plan_, bench.arena().slot() + layout_.entry, board), Refusal());
            bench.arena().write(board.address, {board.jump, board.length});
        }
        bench.arena().write(patch.address, {patch.jump, patch.length});
    }

    DetourConfig redirecting() {
        DetourConfig config = bench_.detour_config();
        config.redirects = true;
        // The kernel's, in ring 3: as in a guest of Xen's.
        config.cs = 0x10;
        config.ss = 0x18;
        return config;
    }
    DetourConfig with_after(Bench& bench) {
        DetourConfig config = bench.detour_config();
        config.after = true;
        config.after_argument = kAfter;
        return config;
    }
    Bench bench_{GetParam()};
    Plan plan_;
    DetourLayout layout_;
};

INSTANTIATE_TEST_SUITE_P(, DetourHandlerTest,
                         testing::Values(Arena::Place::Low, Arena::Place::High),
                         [](const auto& info) {
                             return info.param == Arena::Place::Low ? "Low" : "High";
                         });

const Bytes kPlain = CODE("mov eax, 0x12345678; jmp " ARENA_EXIT);

// --- continuing elsewhere ---

/// At `elsewhere`, 0x80 behind the code's start.
const Bytes kElsewhere = CODE("lea rcx, [rcx + 1]; jmp " ARENA_EXIT " - 0x80");

TEST_P(DetourHandlerTest, NothingChangedContinuesWithTheDisplaced) {
    ASSERT_TRUE(detour(bench_, kPlain, redirecting()));
    write_jump(bench_);
    test::set_edit([](Frame&, u64) { return false; });
    Machine machine = bench_.start();
    const Machine end = bench_.run(machine, bench_.text()).machine;
    machine[AX] = 0x12345678;
    EXPECT_EQ(difference(end, machine), "");
}

TEST_P(DetourHandlerTest, ChangedRegistersAndFlagsTakeEffect) {
    ASSERT_TRUE(detour(bench_, kPlain, redirecting()));
    write_jump(bench_);
    test::set_edit([](Frame& frame, u64) {
        frame.ax = frame.cx = 1;
        frame.r15 = 2;
        frame.flags ^= test::kCarry | test::kOverflow;
        return false;
    });
    Machine machine = bench_.start();
    const Machine end = bench_.run(machine, bench_.text()).machine;
    machine[AX] = 0x12345678;
    machine[CX] = 1;
    machine[R15] = 2;
    machine.flags ^= test::kCarry | test::kOverflow;
    EXPECT_EQ(difference(end, machine), "");
}

TEST_P(DetourHandlerTest, ChangedIpIsWhereItContinues) {
    ASSERT_TRUE(detour(bench_, kPlain, redirecting()));
    write_jump(bench_);
    bench_.arena().write(elsewhere, kElsewhere);
    test::set_edit([](Frame& frame, u64) {
        frame.ip = elsewhere;
        return true;
    });
    for (int round = 0; round < 16; ++round) {
        Machine machine = bench_.start();
        const Machine end = bench_.run(machine, bench_.text()).machine;
        ++machine[CX];
        EXPECT_EQ(difference(end, machine), "");
    }
}

TEST_P(DetourHandlerTest, EveryFieldOfTheFrameIsTakenThen) {
    ASSERT_TRUE(detour(bench_, kPlain, redirecting()));
    write_jump(bench_);
    bench_.arena().write(elsewhere, kElsewhere);
    static Machine wanted;
    test::set_edit([](Frame& frame, u64) {
        frame.ip = elsewhere;
        frame.sp = wanted[SP], frame.flags = wanted.flags;
        frame.ax = wanted[AX], frame.cx = wanted[CX], frame.dx = wanted[DX];
        frame.bx = wanted[BX], frame.bp = wanted[BP], frame.si = wanted[SI];
        frame.di = wanted[DI], frame.r8 = wanted[R8], frame.r9 = wanted[R9];
        frame.r10 = wanted[R10], frame.r11 = wanted[R11], frame.r12 = wanted[R12];
        frame.r13 = wanted[R13], frame.r14 = wanted[R14], frame.r15 = wanted[R15];
        return true;
    });
    std::mt19937_64 random(1);
    for (const i64 moved : {0, 8, -8, 0x100, -0x300, 1}) {
        const Machine machine = bench_.start();
        wanted = Machine::random(random);
        wanted[SP] = machine[SP] + static_cast<u64>(moved);
        const Machine end = bench_.run(machine, bench_.text()).machine;
        ++wanted[CX];
        EXPECT_EQ(difference(end, wanted), "") << moved;
    }
}

// --- behind the probed instruction ---

TEST_P(DetourHandlerTest, HandlerBehindSeesWhatTheInstructionDid) {
    ASSERT_TRUE(detour(bench_, CODE("push rcx; sub rdx, rsi; mov ax, 7; jmp " ARENA_EXIT),
                       with_after(bench_)));
    write_jump(bench_);
    const Machine machine = bench_.start();
    last_hit() = Hit{};
    bench_.run(machine, bench_.text());
    const Hit& hit = last_hit();
    EXPECT_EQ(hit.count, 2u);
    EXPECT_EQ(hit.argument, kAfter);
    EXPECT_EQ(hit.frame.ip, bench_.text() + 1);
    EXPECT_EQ(hit.frame.sp, machine[SP] - 8);
    EXPECT_EQ(hit.frame.dx, machine[DX]);
    EXPECT_EQ(hit.return_address, bench_.text() + 2);
    EXPECT_EQ(hit.record_address, machine[SP] - 8 - 16);
}

TEST_P(DetourHandlerTest, HandlerBehindMayChangeRegisters) {
    ASSERT_TRUE(
        detour(bench_, CODE("mov eax, 5; mov rcx, rax; jmp " ARENA_EXIT), with_after(bench_)));
    write_jump(bench_);
    test::set_edit([](Frame& frame, u64 argument) {
        if (argument == kAfter) frame.ax = 9;
        return false;
    });
    const Machine machine = bench_.start();
    EXPECT_EQ(bench_.run(machine, bench_.text()).machine[CX], 9u);
    // Out of line as well.
    bench_.put(CODE("mov eax, 5; mov rcx, rax; jmp " ARENA_EXIT));
    last_hit() = Hit{};
    EXPECT_EQ(bench_.run(machine, bench_.arena().slot() + layout_.out_of_line).machine[CX], 9u);
    EXPECT_EQ(last_hit().count, 1u);
    EXPECT_EQ(last_hit().argument, kAfter);
}

TEST_P(DetourHandlerTest, HandlerBehindMayContinueElsewhere) {
    DetourConfig config = with_after(bench_);
    config.redirects = true;
    ASSERT_TRUE(detour(bench_, CODE("lea rdx, [rdx + 3]; nop; jmp " ARENA_EXIT), config));
    bench_.arena().write(elsewhere, kElsewhere);
    test::set_edit([](Frame& frame, u64 argument) {
        if (argument != kAfter) return false;
        frame.ip = elsewhere;
        return true;
    });
    Machine machine = bench_.start();
    Machine expected = machine;
    expected[DX] += 3;
    ++expected[CX];
    write_jump(bench_);
    EXPECT_EQ(difference(bench_.run(machine, bench_.text()).machine, expected), "");
    EXPECT_EQ(difference(bench_.run(machine, bench_.arena().slot() + layout_.out_of_line).machine,
                         expected),
              "");
}

/// The registers as the handler sees them.
Machine machine_of(const Frame& frame) {
    return {.registers = {frame.ax, frame.cx, frame.dx, frame.bx, frame.sp, frame.bp, frame.si,
                          frame.di, frame.r8, frame.r9, frame.r10, frame.r11, frame.r12, frame.r13,
                          frame.r14, frame.r15},
            .flags = frame.flags};
}

TEST_P(DetourHandlerTest, RandomFunctionsRunAsWithoutAHandlerBehindTheirInstructions) {
    size_t made = 0;
    for (u64 seed = 1; seed <= 3000 && !HasFailure(); ++seed) {
        Bench bench(GetParam(), seed);
        test::RandomCode random(bench, seed);
        const test::RandomFunction function =
            seed % 2 ? random.function() : random.cramped_function();
        if (!detour(bench, function.code, with_after(bench), function.site)) continue;
        ++made;
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        test::set_crash_note("DetourHandlerTest, seed " + std::to_string(seed));
        const u64 next = plan_.first.end();
        const Machine start = random.start();

        // What the instruction leaves: the exit right behind it.
        Bytes leave(5);
        Emitter out({leave.data(), leave.size()}, next);
        out.jump(bench.exit());
        const u64 site = bench.text() + function.site;
        bench.arena().write(next, leave);
        const Machine behind = bench.run(start, site).machine;

        bench.put(function.code);
        const test::Outcome original = bench.run(start, site);
        for (const u64 from : {bench.arena().slot() + layout_.displaced,
                               bench.arena().slot() + layout_.out_of_line}) {
            last_hit() = Hit{};
            EXPECT_TRUE(same(bench.run(start, from), original));
            EXPECT_EQ(last_hit().count, 1u);
            EXPECT_EQ(last_hit().argument, kAfter);
            EXPECT_EQ(last_hit().frame.ip, next);
            EXPECT_EQ(difference(machine_of(last_hit().frame), behind), "");
        }
    }
    EXPECT_GT(made, 1000u);
}

}  // namespace
}  // namespace djprobe::x86
