// SPDX-License-Identifier: GPL-2.0
// Arrivals at random functions against an oracle that only knows where the region ends.
#include <gtest/gtest.h>

#include "support/printers.h"
#include "support/random_code.h"
#include "support/scene.h"

namespace djprobe::x86 {
namespace {

using test::Arena;
using test::Bytes;
using test::RandomFunction;
using test::Scene;

constexpr u64 kSeeds = 300;

/// A jump at the end of `code` that leads to `target`, an offset of the code.
Bytes with_jump_to(Bytes code, size_t target, bool brief) {
    const size_t end = code.size() + (brief ? 2 : 5);
    code.push_back(brief ? 0xeb : 0xe9);
    const u32 distance = static_cast<u32>(target - end);
    for (size_t i = 0; i < (brief ? 1 : 4); ++i)
        code.push_back(static_cast<u8>(distance >> 8 * i));
    return code;
}

/// Calls check(function, its region's length, where a jump leads to) for all offsets around the
/// regions of many functions.
template <class Check>
void for_each_target(const Check& check) {
    test::Bench bench(Arena::Place::Low);
    test::RandomCode random(bench, 1);
    for (u64 seed = 0; seed < kSeeds; ++seed) {
        const RandomFunction function = random.function();
        const Plan plan = Scene(function.code).plan(function.site);
        ASSERT_EQ(plan.jump, Refusal());
        const size_t first = function.site < 3 ? 0 : function.site - 3;
        for (size_t target = first; target < function.site + plan.region.length + 3; ++target)
            check(function, plan.region.length, target);
    }
}

Refusal expected(const RandomFunction& function, size_t length, size_t target, u64 source) {
    const bool inside = target > function.site && target < function.site + length;
    return inside ? Refusal(Reason::BRANCH_INTO_REGION, source, test::kText + target) : Refusal();
}

TEST(PlanPropertyTest, AShortBranchIsRefusedExactlyWhenItLandsInTheRegion) {
    for_each_target([](const RandomFunction& function, size_t length, size_t target) {
        const Bytes code = with_jump_to(function.code, target, true);
        if (code.size() - target > 128) return;
        EXPECT_EQ(Scene(code).plan(function.site).jump,
                  expected(function, length, target, test::kText + function.code.size()));
    });
}

TEST(PlanPropertyTest, ALongBranchIsRefusedExactlyWhenItLandsInTheRegion) {
    for_each_target([](const RandomFunction& function, size_t length, size_t target) {
        EXPECT_EQ(Scene(with_jump_to(function.code, target, false)).plan(function.site).jump,
                  expected(function, length, target, test::kText + function.code.size()));
    });
}

TEST(PlanPropertyTest, ABranchFromElsewhereIsRefusedExactlyWhenItLandsInTheRegion) {
    for_each_target([](const RandomFunction& function, size_t length, size_t target) {
        Scene scene(function.code);
        const u64 source = test::kText + 0x123456;
        scene.landings = {{Reason::BRANCH_INTO_REGION, source, test::kText + target}};
        EXPECT_EQ(scene.plan(function.site).jump, expected(function, length, target, source));
    });
}

TEST(PlanPropertyTest, AReservedByteIsRefusedExactlyWhenItIsReplaced) {
    for_each_target([](const RandomFunction& function, size_t length, size_t target) {
        Scene scene(function.code);
        scene.reserved = {{{test::kText + target, test::kText + target + 1}, Reason::EXTABLE_INSN}};
        const bool replaced = target >= function.site && target < function.site + length;
        const Refusal site = scene.refusal(function.site);
        const Refusal jump = scene.plan(function.site).jump;
        EXPECT_EQ(site || jump, replaced) << "+" << target;
    });
}

}  // namespace
}  // namespace djprobe::x86
