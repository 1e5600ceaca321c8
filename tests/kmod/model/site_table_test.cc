// SPDX-License-Identifier: GPL-2.0
// Many sites: each is found at and near its address, and no other.
#include <gtest/gtest.h>

#include "many_sites.h"
#include "session.h"

namespace djprobe::model {
namespace {

TEST(SiteTable, FindsEachOfManyAndForgetsEach) {
    const Session session(1);
    constexpr size_t kCount = 10'000;
    ManySites sites(kCount, 0x100000, 96);
    for (size_t i = 0; i < kCount; i += 2)
        sites.remove(i);
    for (size_t i = 1; i + 2 < kCount; i += 2) {
        ASSERT_TRUE(sites.finds(i));
        ASSERT_FALSE(sites.finds(i + 1));
        ASSERT_TRUE(sites.finds_near(i, i));
        ASSERT_TRUE(sites.finds_near(i, i + 2));
        ASSERT_FALSE(sites.finds_near(i, i + 1));
        // Within the reach of all tactics, and the lines that this ends in.
        ASSERT_LE(sites.count_near(i), 6U);
    }
}

}  // namespace
}  // namespace djprobe::model
