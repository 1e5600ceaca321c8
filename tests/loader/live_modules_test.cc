// SPDX-License-Identifier: GPL-2.0
#include "kernel/live_modules.h"

#include <gtest/gtest.h>

#include "temp_file.h"

namespace djprobe::loader {
namespace {

TEST(LiveModules, those_that_come_or_go_are_left_out) {
    const Files files;
    const auto path = files.write("modules",
                                  "ext4 1187840 2 - Live 0xffffffffc0100000\n"
                                  "xfs 2000000 1 - Loading 0xffffffffc0400000\n"
                                  "jbd2 212992 1 ext4, Live 0xffffffffc0080000 (OE)\n"
                                  "fat 106496 0 - Unloading 0xffffffffc0800000\n"
                                  "loop 45056 0 - Live 0x0000000000000000\n");
    const auto live = live_modules(path.c_str());
    ASSERT_EQ(live.size(), 3U);
    EXPECT_EQ(live[0].name, "ext4");
    EXPECT_EQ(live[0].base, 0xffffffffc0100000);
    EXPECT_EQ(live[0].size, 1187840U);
    EXPECT_EQ(live[1].name, "jbd2");
    EXPECT_EQ(live[1].base, 0xffffffffc0080000);
    EXPECT_EQ(live[2].base, 0U) << "hidden";
}

TEST(LiveModules, none_where_the_kernel_has_no_modules) {
    EXPECT_TRUE(live_modules("/nonexistent").empty());
}

}  // namespace
}  // namespace djprobe::loader
