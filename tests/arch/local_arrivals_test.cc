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

}  // namespace
}  // namespace djprobe::x86
