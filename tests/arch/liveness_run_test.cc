// SPDX-License-Identifier: GPL-2.0
// The ground truth of liveness: overwrite all that is called dead, on the real CPU; the results
// must be the same.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstring>
#include <set>

#include "arch/x86/insn/scan.h"
#include "support/direct.h"
#include "support/printers.h"
#include "support/random_code.h"
#include "support/victims.h"

extern "C" {
extern djprobe::u8 __start_victims[], __stop_victims[];
}

namespace djprobe::x86 {
namespace {

using test::Arena;
using test::Bench;
using test::Bytes;
using test::DirectBench;

Plan plan_of(const Code& function, u64 site) {
    Snapshot snapshot;
    snapshot.site = site;
    snapshot.function = function;
    snapshot.tactics = kAllTactics;
    Plan plan;
    if (const Refusal refusal = make_plan(snapshot, plan)) plan.jump = refusal;
    return plan;
}

// --- random functions ---

bool returns(const Code& function) {
    bool found = false;
    static_cast<void>(for_each_insn(function, function.range().end, [&](const Insn& insn) {
        found |= insn.kind == Kind::Return;
        return !found;
    }));
    return found;
}

class LivenessRunTest : public testing::TestWithParam<Arena::Place> {};

TEST_P(LivenessRunTest, RandomFunctionsDoNotMissWhatIsDead) {
    size_t dead_registers = 0, dead_flags = 0, sites = 0;
    for (u64 seed = 1; seed <= 4000 && !HasFailure(); ++seed) {
        Bench bench(GetParam(), seed);
        DirectBench direct(bench);
        test::RandomCode random(bench, seed);
        const test::RandomFunction function =
            seed % 2 ? random.function() : random.cramped_function();
        bench.put(function.code);
        const u64 site = bench.text() + function.site;
        const Code code = {bench.text(), test::view(function.code)};
        const Plan plan = plan_of(code, site);
        if (!plan.may_jump()) continue;
        const Live live = find_live(
            {.function = code, .whole = true, .standard_abi = true, .has_fixups = false}, site);
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        test::set_crash_note("LivenessRunTest, seed " + std::to_string(seed));

        const test::Machine start = random.start();
        test::Outcome original = bench.run(start, site);
        Bytes bytes(kMaxDetour, kInt3);
        DetourLayout layout;
        ASSERT_EQ(emit_direct_detour(plan, direct.config(kCallerSaved, 0), live,
                                     bench.arena().slot(), {bytes.data(), bytes.size()}, layout),
                  Refusal());
        bench.arena().write(bench.arena().slot(), bytes);
        PatchSite patch, board;
        ASSERT_EQ(make_jump_site(plan, bench.arena().slot() + layout.entry, patch), Refusal());
        if (plan.tactic == Tactic::Springboard) {
            ASSERT_EQ(make_board(plan, bench.arena().slot() + layout.entry, board), Refusal());
            bench.arena().write(board.address, {board.jump, board.length});
        }
        bench.arena().write(patch.address, {patch.jump, patch.length});
        // The way through a slide begins at its anchor, which may change what the site gets.
        if (plan.anchor != site) {
            bench.put(function.code);
            original = bench.run(start, plan.anchor);
            bench.arena().write(patch.address, {patch.jump, patch.length});
        }
        test::Outcome probed = bench.run(start, plan.anchor);
        // The function has jumped to the exit as to another function, which takes no flags.
        probed.machine.flags = original.machine.flags;
        // Or has it returned there?
        for (u8 reg = 0; reg < test::Machine::kRegisters && returns(code); ++reg)
            if (reg != kRax && reg != kRdx && kCallerSaved & register_bit(reg))
                probed.machine.registers[reg] = original.machine.registers[reg];
        EXPECT_TRUE(same(probed, original));
        dead_registers += 9u - static_cast<size_t>(__builtin_popcount(live.registers));
        dead_flags += !live.flags && !live.system_flags;
        ++sites;
    }
    // Where everything is live nothing is proven.
    EXPECT_GT(sites, 2000u);
    EXPECT_GT(dead_registers, 1000u);
    EXPECT_GT(dead_flags, sites / 10);
}

INSTANTIATE_TEST_SUITE_P(, LivenessRunTest, testing::Values(Arena::Place::Low, Arena::Place::High),
                         [](const auto& info) {
                             return info.param == Arena::Place::Low ? "Low" : "High";
                         });

// --- compiled functions ---

/// Writable text, and memory near it for slots.
class Victims {
  public:
    static constexpr size_t kSlotSize = 4096;

    Victims() {
        const u64 page = reinterpret_cast<u64>(__start_victims) & ~0xffful;
        const u64 end = (reinterpret_cast<u64>(__stop_victims) + 0xfff) & ~0xffful;
        writable_ = !mprotect(reinterpret_cast<void*>(page), end - page,
                              PROT_READ | PROT_WRITE | PROT_EXEC);
        // Right beside the binary there may be other mappings; some MiB below is room.
        for (u64 at = page - 0x1000000; !slot_ && at > page - 0x40000000; at -= 0x1000000) {
            void* const memory =
                mmap(reinterpret_cast<void*>(at), kSlotSize, PROT_READ | PROT_WRITE | PROT_EXEC,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
            if (memory != MAP_FAILED) slot_ = static_cast<u8*>(memory);
        }
        find_functions();
    }
    bool ready() const { return writable_ && slot_; }
    u8* slot() const { return slot_; }
    const std::vector<Code>& functions() const { return functions_; }

  private:
    void find_functions() {
        const Span<const u64> all = test::victims();
        std::set<u64> starts(all.begin(), all.end());
        const u64 end = reinterpret_cast<u64>(__stop_victims);
        for (auto start = starts.begin(); start != starts.end();) {
            const u64 from = *start++;
            const u64 to = start == starts.end() ? end : *start;
            functions_.push_back({from, {reinterpret_cast<const u8*>(from), to - from}});
        }
    }

    bool writable_ = false;
    u8* slot_ = nullptr;
    std::vector<Code> functions_;
};

/// The leanest program that the contract allows: nothing of what it may change survives.
void emit_program(Emitter& out) {
    for (u8 reg = 0; reg < 16; ++reg) {
        if (!(kCallerSaved & register_bit(reg))) continue;
        out.code(reg > 7 ? 0x49 : 0x48, 0xc7, 0xc0 | (reg & 7));
        out.imm32(0xdeadbee0u + reg);
    }
    out.code(0x9c, 0x81, 0x34, 0x24);  // pushf; xorl $status flags, (%rsp)
    out.imm32(kStatusFlags);
    out.code(0x9d, 0xc3);  // popf; ret
}

TEST(LivenessVictimsTest, CompiledFunctionsDoNotMissWhatIsDead) {
    const Victims victims;
    ASSERT_TRUE(victims.ready());
    ASSERT_GT(victims.functions().size(), 10u);
    const test::PerCpuBase per_cpu;
    u64 expected[4];
    for (u64 seed = 0; seed < 4; ++seed)
        expected[seed] = test::run_victims(seed);

    const u64 slot = reinterpret_cast<u64>(victims.slot());
    Emitter program({victims.slot() + 0x800, 0x100}, slot + 0x800);
    emit_program(program);
    size_t sites = 0, hits = 0, dead_registers = 0, dead_flags = 0;
    for (const Code& function : victims.functions()) {
        for (u64 site = function.address; site < function.range().end && !HasFailure();) {
            const Bytes original(function.bytes.begin(), function.bytes.end());
            const Code copy = {function.address, test::view(original)};
            Insn insn;
            if (!decode(copy.from(site), site, insn)) break;
            const Plan plan = plan_of(copy, site);
            if (!plan.may_jump()) {
                site = insn.end();
                continue;
            }
            const Live live = find_live(
                {.function = copy, .whole = true, .standard_abi = true, .has_fixups = false}, site);
            test::DirectBench::reset();
            DirectConfig config = {.program = slot + 0x800, .context = 0, .slow = slot + 0x800};
            test::use_per_cpu(config);
            DetourLayout layout;
            ASSERT_EQ(
                emit_direct_detour(plan, config, live, slot, {victims.slot(), kMaxDetour}, layout),
                Refusal());
            PatchSite patch, board;
            ASSERT_EQ(make_jump_site(plan, slot + layout.entry, patch), Refusal());
            if (plan.tactic == Tactic::Springboard) {
                ASSERT_EQ(make_board(plan, slot + layout.entry, board), Refusal());
            }
            test::set_crash_note("LivenessVictimsTest, site at +" +
                                 std::to_string(site - reinterpret_cast<u64>(__start_victims)));
            if (board.length)
                std::memcpy(reinterpret_cast<void*>(board.address), board.jump, board.length);
            std::memcpy(reinterpret_cast<void*>(patch.address), patch.jump, patch.length);
            test::serialize();
            u64 results[4];
            for (u64 seed = 0; seed < 4; ++seed)
                results[seed] = test::run_victims(seed);
            std::memcpy(reinterpret_cast<void*>(function.address), original.data(),
                        original.size());
            test::serialize();
            for (u64 seed = 0; seed < 4; ++seed)
                EXPECT_EQ(results[seed], expected[seed])
                    << "site at +" << site - reinterpret_cast<u64>(__start_victims);
            ++sites;
            hits += test::DirectBench::per_cpu().hits;
            dead_registers += 9u - static_cast<size_t>(__builtin_popcount(live.registers));
            dead_flags += !live.flags;
            site = insn.end();
        }
    }
    std::printf("%zu sites, %zu hits, %.1f registers live, flags dead at %.0f %%\n", sites, hits,
                9 - double(dead_registers) / double(sites),
                100 * double(dead_flags) / double(sites));
    EXPECT_GT(sites, 300u);
    EXPECT_GT(hits, 10 * sites);
    EXPECT_GT(dead_registers, sites);
    EXPECT_GT(dead_flags, sites / 2);
}

}  // namespace
}  // namespace djprobe::x86
