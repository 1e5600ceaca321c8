// SPDX-License-Identifier: GPL-2.0
// A function and its surroundings, which own all that a Snapshot only points to.
#pragma once

#include <vector>

#include "arch/x86/analysis/plan.h"
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
        return x86::make_plan(snapshot(site_offset), plan);
    }

    /// The plan for a site that may be probed.
    x86::Plan plan(size_t site_offset) const {
        x86::Plan plan;
        if (x86::make_plan(snapshot(site_offset), plan)) plan.jump = Refusal{Reason::NOT_TEXT};
        return plan;
    }
};

}  // namespace djprobe::test
