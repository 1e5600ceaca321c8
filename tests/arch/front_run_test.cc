// SPDX-License-Identifier: GPL-2.0
// Conditions in front of a call, on the real CPU.
#include <gtest/gtest.h>

#include <random>

#include "support/action_meaning.h"
#include "support/count_fixture.h"
#include "support/printers.h"
#include "support/running_task.h"

namespace djprobe::x86 {
namespace {

using test::Actions;
using test::Arena;
using test::Bytes;
using test::Detoured;
using test::DirectBench;
using test::Machine;
using test::PerCpu;

constexpr FieldSet kNoField = 0;

class FrontTest : public test::CountFixture {
  protected:
    ~FrontTest() override { test::set_edit(nullptr); }
    static FrontConfig front(const Actions& conditions, bool lahf = true) {
        return {{conditions.data(), conditions.size()}, test::task_layout(), lahf};
    }
    /// A handler with the whole frame behind them.
    void handler_at(Detoured& site, const DetourConfig& config) {
        Bytes bytes(kMaxDetour, kInt3);
        const Refusal refusal = emit_detour(site.plan(), config, bench_.arena().slot(),
                                            {bytes.data(), bytes.size()}, layout_);
        write(site, refusal, bytes);
    }
    /// What a hit runs in the detour for which the first condition does not hold, up to the
    /// displaced instructions.
    size_t filtered_path() {
        size_t count = 0;
        const u64 slot = bench_.arena().slot(), end = slot + layout_.displaced;
        for (u64 at = slot + layout_.call; at != end && count < 100; ++count) {
            Insn insn;
            EXPECT_TRUE(decode({reinterpret_cast<const u8*>(at), kMaxInsnLength}, at, insn));
            const bool leads_on = insn.kind == Kind::CondJump || insn.kind == Kind::Jump;
            at = leads_on ? insn.target : insn.end();
        }
        return count;
    }
    size_t filtered(const Actions& conditions, FieldSet context, const Live& live,
                    bool lahf = true) {
        Detoured site(bench_, test::plain());
        DirectConfig config = direct_.config(kCallerSaved, context);
        config.front = front(conditions, lahf);
        program_at(site, config, live);
        return filtered_path();
    }
};

INSTANTIATE_TEST_SUITE_P(, FrontTest, testing::Values(Arena::Place::Low, Arena::Place::High),
                         test::place_name);

Live live_anywhere(std::mt19937_64& random) {
    Live live = test::random_live(random);
    live.system_flags = random() % 8 == 0;
    return live;
}

TEST_P(FrontTest, RandomConditionsLetThroughWhatTheyMean) {
    std::mt19937_64 random(GetParam() == Arena::Place::Low);
    size_t passed = 0, filtered = 0, changed = 0;
    for (int round = 0; round < 4000 && !HasFailure(); ++round) {
        const Actions conditions = test::random_conditions(random);
        const Live live = live_anywhere(random);
        DirectConfig config = random_call(random);
        config.front = front(conditions, random() % 4 != 0);
        const std::string note = test::describe(conditions) + " live " +
                                 std::to_string(live.registers) + (live.flags ? " flags" : "");
        SCOPED_TRACE(note);
        test::set_crash_note(note);
        Detoured site(bench_, test::plain());
        program_at(site, config, live);
        for (int hit = 0; hit < 4; ++hit) {
            DirectBench::reset();
            const bool busy = random() % 4 == 0;
            DirectBench::per_cpu().active = busy;
            PerCpu expected = DirectBench::per_cpu();
            Machine start = bench_.start();
            if (!live.system_flags) start.flags &= ~u64{test::kDirection};
            test::Task task;
            test::make_interesting(conditions, start, task, random);
            test::let_run(task);
            const bool passes = test::all_hold(conditions, start, task);
            const Machine end = run(start);
            ++(passes ? passed : filtered);
            EXPECT_EQ(DirectBench::program().count, passes && !busy);
            EXPECT_EQ(DirectBench::slow().count, passes && busy);
            expected.hits = passes && !busy;
            EXPECT_EQ(DirectBench::per_cpu(), expected);
            if (passes) {
                const test::Seen& seen = busy ? DirectBench::slow() : DirectBench::program();
                EXPECT_EQ(test::differences(seen.frame, test::frame_of(start, bench_.text()),
                                            config.context),
                          0u);
            }
            changed += test::expect_kept(start, end, live.registers);
            const u64 kept = live.flags ? ~u64{0} : u64{test::kDirection};
            EXPECT_EQ(end.flags & kept, start.flags & kept);
        }
    }
    // Else nothing was tried, or it saves what it need not.
    EXPECT_GT(passed, 1000u);
    EXPECT_GT(filtered, 1000u);
    EXPECT_GT(changed, 1000u);
}

TEST_P(FrontTest, AHandlerWithTheWholeFrameIsFilteredAsWell) {
    std::mt19937_64 random(GetParam() == Arena::Place::Low);
    size_t passed = 0, filtered = 0;
    test::set_edit([](Frame&, u64) { return false; });
    for (int round = 0; round < 2000 && !HasFailure(); ++round) {
        const Actions conditions = test::random_conditions(random);
        DetourConfig config = bench_.detour_config();
        config.front = front(conditions, random() % 2);
        config.live = live_anywhere(random);
        config.redirects = random() % 2;
        SCOPED_TRACE(test::describe(conditions));
        test::set_crash_note(test::describe(conditions));
        Detoured site(bench_, test::plain());
        handler_at(site, config);
        test::last_hit() = {};
        Machine start = bench_.start();
        test::Task task;
        test::make_interesting(conditions, start, task, random);
        test::let_run(task);
        const bool passes = test::all_hold(conditions, start, task);
        ++(passes ? passed : filtered);
        const Machine end = run(start);
        EXPECT_EQ(test::last_hit().count, passes);
        if (passes) {
            EXPECT_EQ(test::differences(test::last_hit().frame,
                                        test::frame_of(start, bench_.text()), kAllFields),
                      0u);
            EXPECT_EQ(difference(end, start), "");
        }
        test::expect_kept(start, end, config.live.registers);
        if (config.live.flags) {
            EXPECT_EQ(end.flags, start.flags);
        }
    }
    EXPECT_GT(passed, 300u);
    EXPECT_GT(filtered, 300u);
}

Action of_process(u64 number) {
    return {DJPROBE_ACTION_IF_EQ, DJPROBE_TASK_TGID, 4, DJPROBE_ACTION_TASK, 0, number};
}

// The two jumps come on top.
TEST_P(FrontTest, AFilteredHitCostsAHandful) {
    const Action argument = {DJPROBE_ACTION_IF_GT, 7, 8, 0, 0, 4096};
    EXPECT_EQ(filtered({argument}, kNoField, test::kNothingLive), 2u);
    EXPECT_EQ(filtered({of_process(1)}, kNoField, test::kNothingLive), 3u);
    // A program that may read all registers: one is saved, and the flags, which are let go.
    EXPECT_EQ(filtered({of_process(1)}, kAllFields, test::kNothingLive), 8u);
    EXPECT_EQ(filtered({argument}, kAllFields, test::kNothingLive), 7u);
    EXPECT_EQ(filtered({of_process(1)}, kNoField, {0, true, false}), 8u);
    EXPECT_EQ(filtered({of_process(1)}, kNoField, test::kAllLive), 8u);
}

// What a passing hit pays.
TEST_P(FrontTest, NothingIsSavedThatNobodyNeeds) {
    const auto size = [&](const Actions& conditions) {
        Detoured site(bench_, test::plain());
        DirectConfig config = direct_.config(kCallerSaved, kNoField);
        config.front = front(conditions);
        program_at(site, config, test::kNothingLive);
        return instructions();
    };
    EXPECT_EQ(size({of_process(1)}), size({}) + 3);
}

}  // namespace
}  // namespace djprobe::x86
