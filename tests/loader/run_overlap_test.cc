// SPDX-License-Identifier: GPL-2.0
#include <gtest/gtest.h>

#include "run/overlap.h"

namespace djprobe::loader {
namespace {

using Owners = std::vector<std::uint64_t>;

TEST(RunOverlap, finds_who_shares_a_byte) {
    EXPECT_EQ(overlapping_owners({{10, 15, 1}, {14, 20, 2}, {20, 25, 3}}, 1), Owners{2});
    EXPECT_EQ(overlapping_owners({{20, 25, 3}, {14, 20, 2}, {10, 15, 1}}, 2), Owners{1});
    EXPECT_EQ(overlapping_owners({{20, 25, 3}, {14, 20, 2}, {10, 15, 1}}, 3), Owners{});
}

TEST(RunOverlap, a_span_within_a_longer_one_does_not_end_it) {
    EXPECT_EQ(overlapping_owners({{10, 50, 1}, {12, 14, 2}, {40, 44, 3}}, 3), (Owners{1, 2}));
}

TEST(RunOverlap, goes_on_by_the_other_spans_of_an_owner) {
    // 1 and 2 meet at 10, 2 and 3 at 100, 3 and 4 at 200; 5 meets nobody.
    const std::vector<Span> spans = {{10, 15, 1},   {10, 15, 2},   {100, 105, 2}, {103, 108, 3},
                                     {200, 205, 3}, {201, 202, 4}, {300, 305, 5}};
    EXPECT_EQ(overlapping_owners(spans, 1), (Owners{2, 3, 4}));
    EXPECT_EQ(overlapping_owners(spans, 4), (Owners{1, 2, 3}));
    EXPECT_EQ(overlapping_owners(spans, 5), Owners{});
    EXPECT_EQ(overlapping_owners(spans, 9), Owners{});
    EXPECT_EQ(overlapping_owners({}, 1), Owners{});
}

}  // namespace
}  // namespace djprobe::loader
