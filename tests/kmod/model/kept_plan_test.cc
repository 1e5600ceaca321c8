// SPDX-License-Identifier: GPL-2.0
// What a site keeps of its plan is all of it.
#include "kmod/sites/kept_plan.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace djprobe::model {
namespace {

using kmod::KeptPlan;
using x86::Plan;

using Bytes = std::vector<u8>;

constexpr u64 kText = 0xffffffff81000000;

struct Case {
    const char* name;
    Bytes code;
    size_t site;
    bool leads;
};

void expect_same(const x86::Insn& kept, const x86::Insn& insn) {
    EXPECT_EQ(kept.address, insn.address);
    EXPECT_EQ(kept.target, insn.target);
    EXPECT_EQ(kept.taken, insn.taken);
    EXPECT_EQ(kept.kind, insn.kind);
    EXPECT_EQ(kept.length, insn.length);
    EXPECT_EQ(kept.modrm_offset, insn.modrm_offset);
    EXPECT_EQ(kept.rel_offset, insn.rel_offset);
    EXPECT_EQ(kept.rel_size, insn.rel_size);
    EXPECT_EQ(kept.rip_disp_offset, insn.rip_disp_offset);
    EXPECT_EQ(kept.taken_offset, insn.taken_offset);
    EXPECT_EQ(kept.immovable, insn.immovable);
    EXPECT_EQ(kept.stack_relative, insn.stack_relative);
}

class KeptPlanTest : public testing::TestWithParam<Case> {};

TEST_P(KeptPlanTest, ExpandsToAllOfIt) {
    const Case& about = GetParam();
    x86::Snapshot snapshot;
    snapshot.site = kText + about.site;
    snapshot.function = {kText, {about.code.data(), about.code.size()}};
    snapshot.no_jump_tables = true;
    snapshot.tactics = x86::kAllTactics;
    Plan plan;
    ASSERT_EQ(make_plan(snapshot, plan).reason, Reason::NONE);
    const KeptPlan kept(plan);
    const Plan again = kept.expand();
    EXPECT_EQ(again.site, plan.site);
    expect_same(again.first, plan.first);
    EXPECT_EQ(0, memcmp(again.first_bytes, plan.first_bytes, sizeof plan.first_bytes));
    EXPECT_EQ(again.jump.reason, plan.jump.reason);
    EXPECT_EQ(again.tactic, plan.tactic);
    EXPECT_EQ(again.anchor, plan.anchor);
    EXPECT_EQ(again.before, plan.before);
    EXPECT_EQ(again.board, plan.board);
    EXPECT_EQ(0, memcmp(again.board_bytes, plan.board_bytes, sizeof plan.board_bytes));
    EXPECT_EQ(again.region.length, plan.region.length);
    EXPECT_EQ(0, memcmp(again.region.bytes, plan.region.bytes, sizeof plan.region.bytes));
    ASSERT_EQ(again.region.count, plan.region.count);
    for (size_t i = 0; i < plan.region.count; ++i)
        expect_same(again.region.insns[i], plan.region.insns[i]);
    EXPECT_EQ(kept.region.leads, about.leads);
}

const Case kCases[] = {
    {"Pushes", {0x41, 0x57, 0x41, 0x56, 0x55, 0x53, 0xc3}, 0, false},
    {"Call", {0xe8, 1, 2, 3, 4, 0x90, 0xc3}, 0, true},
    {"RipRelativeLea", {0x48, 0x8d, 0x05, 1, 2, 3, 4, 0xc3}, 0, true},
    {"ShortBranch", {0x85, 0xc0, 0x74, 0x40, 0x31, 0xc0, 0xc3}, 0, true},
    {"ReturnAndFiller", {0x31, 0xc0, 0xc3, 0xcc, 0xcc, 0xcc, 0xcc}, 0, false},
    {"Slide", {0x90, 0x89, 0xc8, 0x89, 0xd1, 0xc3}, 3, false},
    {"Springboard",
     {0x74, 0x00, 0x31, 0xc0, 0x31, 0xc0, 0xc3, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc},
     0,
     true},
    {"NoJump", {0x31, 0xc0, 0xc3, 0x90}, 2, false},
};

INSTANTIATE_TEST_SUITE_P(, KeptPlanTest, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace djprobe::model
