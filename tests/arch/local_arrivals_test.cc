// SPDX-License-Identifier: GPL-2.0
#include "arch/x86/analysis/local_arrivals.h"

#include <gtest/gtest.h>

#include "support/printers.h"
#include "support/scene.h"

namespace djprobe::x86 {
namespace {

using test::Bytes;
using test::kText;
using test::view;

Code code_at_text(const Bytes& bytes) {
    return {kText, view(bytes)};
}

TEST(ArrivalBranchTest, FirstBranchIntoTheRangeIsNamed) {
    const Bytes bytes = CODE("1: nop; jz 1b; jmp 1b; ret");
    EXPECT_EQ(find_branch_into(code_at_text(bytes), {kText, kText + 1}),
              Refusal(Reason::BRANCH_INTO_REGION, kText + 1, kText));
}

TEST(ArrivalBranchTest, RangeEndIsExclusive) {
    const Bytes bytes = CODE("nop; 1: jz 1b; ret");
    EXPECT_EQ(find_branch_into(code_at_text(bytes), {kText, kText + 1}), Refusal());
}

TEST(ArrivalBranchTest, BranchInPaddingBehindTheEndCounts) {
    const Bytes bytes = CODE("1: ret; int3; jmp 1b");
    EXPECT_EQ(find_branch_into(code_at_text(bytes), {kText, kText + 1}),
              Refusal(Reason::BRANCH_INTO_REGION, kText + 2, kText));
}

TEST(ArrivalBranchTest, ShortBranchIsSeenFromEachPlaceToEachTarget) {
    for (const Range targets : {Range{kText + 150, kText + 155}, Range{kText - 3, kText + 1},
                                Range{kText + 300, kText + 304}})
        for (const u8 opcode : {0x70, 0x7f, 0xe0, 0xe3, 0xeb})
            for (const std::size_t at : {0, 1, 25, 148, 153, 280, 298})
                for (int displacement = -128; displacement < 128; ++displacement) {
                    Bytes bytes(300, 0x90);
                    bytes[at] = opcode;
                    bytes[at + 1] = static_cast<u8>(displacement);
                    const u64 target = kText + at + 2 + static_cast<u64>(displacement);
                    EXPECT_EQ(may_branch_short(code_at_text(bytes), targets),
                              targets.contains(target))
                        << "opcode " << int{opcode} << " at " << at << " by " << displacement;
                }
}

}  // namespace
}  // namespace djprobe::x86
