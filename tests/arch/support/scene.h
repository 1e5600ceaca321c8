// SPDX-License-Identifier: GPL-2.0
// A function and its surroundings, which own all that a Snapshot only points to.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "arch/x86/analysis/local_arrivals.h"
#include "arch/x86/analysis/plan.h"
#include "arch/x86/insn/scan.h"
#include "support/code.h"

namespace djprobe::test {

/// Where scenes lie: in the kernel's image, so that addresses have their usual form.
inline constexpr u64 kText = 0xffffffff81000000;

struct Scene {
    Bytes function;
    u64 address = kText;
    std::vector<Code> neighbours;
    std::vector<x86::Landing> landings;
    std::vector<x86::Reserved> reserved;
    bool no_jump_tables = true;
    x86::IndirectThunks indirect_thunks;
    u8 tactics = x86::tactic_bit(x86::Tactic::Window);

    explicit Scene(Bytes code, u64 where = kText) : function(std::move(code)), address(where) {}

    u64 at(size_t offset) const { return address + offset; }

    x86::Snapshot snapshot(size_t site_offset) const {
        return {.site = at(site_offset),
                .function = {address, view(function)},
                .neighbours = {neighbours.data(), neighbours.size()},
                .landings = {landings.data(), landings.size()},
                .reserved = {reserved.data(), reserved.size()},
                .no_jump_tables = no_jump_tables,
                .indirect_thunks = indirect_thunks,
                .tactics = tactics};
    }

    /// Why there may be no probe at all.
    Refusal refusal(size_t site_offset) const {
        x86::Plan plan;
        return make(site_offset, plan);
    }

    /// The plan for a site that may be probed.
    x86::Plan plan(size_t site_offset) const {
        x86::Plan plan;
        if (make(site_offset, plan)) plan.jump = Refusal{Reason::NOT_TEXT};
        return plan;
    }

  private:
    /// With what the sites of a function share the answer is the same.
    Refusal make(size_t site_offset, x86::Plan& plan) const {
        x86::Snapshot all = snapshot(site_offset);
        const Refusal refusal = x86::make_plan(all, plan);
        std::vector<x86::Insn> insns(function.size());
        x86::KnownInsns known{{insns.data(), insns.size()}};
        all.function.known = &known;
        while (x86::know_more(all.function)) {
        }
        std::vector<u64> targets(function.size() / 64 + 1);
        x86::FunctionMemo memo;
        if (x86::find_targets(all.function, {targets.data(), targets.size()}))
            memo.targets = {targets.data(), targets.size()};
        all.memo = &memo;
        for (int i = 0; i < 2; ++i) {
            x86::Plan shared;
            expect_same(x86::make_plan(all, shared), refusal);
            expect_same(shared.jump, plan.jump);
            EXPECT_EQ(shared.anchor, plan.anchor);
            EXPECT_EQ(shared.tactic, plan.tactic);
        }
        return refusal;
    }

    static void expect_same(const Refusal& shared, const Refusal& alone) {
        EXPECT_EQ(shared.reason, alone.reason);
        EXPECT_EQ(shared.detail[0], alone.detail[0]);
        EXPECT_EQ(shared.detail[1], alone.detail[1]);
    }
};

}  // namespace djprobe::test
