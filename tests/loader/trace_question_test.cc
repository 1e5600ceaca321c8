// SPDX-License-Identifier: GPL-2.0
// Where a trace is meant to be, as the user writes it.
#include <gmock/gmock.h>

#include "expect_error.h"
#include "trace/question.h"

namespace djprobe::loader {
namespace {

TEST(TraceQuestion, is_at_a_place_or_at_returns) {
    Question asked;
    parse_place("ext4:ext4_readdir:return", asked);
    EXPECT_TRUE(asked.at_returns);
    EXPECT_EQ(asked.module(), "ext4");
    EXPECT_EQ(asked.bare_function(), "ext4_readdir");
    parse_place("vfs_read+0x2b", asked);
    EXPECT_TRUE(asked.is_within());
    EXPECT_EQ(asked.site.str(), "vfs_read+0x2b");
    const auto refused = [&](const char* place) {
        return expect_error(ExitCode::kUsage, [&] { parse_place(place, asked); });
    };
    EXPECT_THAT(refused("vfs_read+5:return"), testing::HasSubstr("those of a whole function"));
    EXPECT_EQ(refused("vfs_read()"), "'vfs_read()' is no function's name: write vfs_read");
    for (const char* const wrong : {"vfs-read", "a*/b", "vfs_*(", "a;b", "a\"b"})
        EXPECT_THAT(refused(wrong), testing::HasSubstr("is no function's name")) << wrong;
    EXPECT_EQ(refused("vfs_read:retrun"), "vfs_read:retrun: did you mean vfs_read:return?");
    EXPECT_EQ(refused("vfs_read:return:return"),
              "vfs_read:return:return: ':return' stands there twice: write vfs_read:return");
    EXPECT_EQ(refused("fs/read_write.c:abc"),
              "'fs/read_write.c:abc': 'abc' is no line, a whole number up to 10000000");
    for (const char* const wrong : {"read_write.c:-5", "read_write.c:", "ext4:inode.c:99999999",
                                    "read_write.c:0x10", "vfs_read:+", "ext4:ext4_readdir:+x"})
        EXPECT_THAT(refused(wrong), testing::HasSubstr("is no line, a whole number")) << wrong;
    EXPECT_EQ(refused("fs/read_write.c"),
              "'fs/read_write.c' is a file: write fs/read_write.c:LINE for one of its lines");
    EXPECT_THAT(refused("ext4:inode.c"), testing::HasSubstr("write ext4:inode.c:LINE"));
    parse_place("vfs_read.part.0:return", asked);
    EXPECT_EQ(asked.function(), "vfs_read.part.0");
    EXPECT_THAT(refused("*:ext4_*"), testing::HasSubstr("write MODULE:ext4_*"));
    parse_place("vfs_[[:alpha:]]*", asked);
    EXPECT_EQ(asked.module(), "");
    EXPECT_EQ(asked.bare_function(), "vfs_[[:alpha:]]*");
    EXPECT_THAT(expect_error(ExitCode::kUsage, [] { parse_columns("time,when"); }),
                testing::HasSubstr("'when' is none of time, cpu"));
    EXPECT_EQ(expect_error(ExitCode::kUsage, [] { parse_columns("pid,time,pid"); }),
              "--columns: pid stands there twice");
    EXPECT_THAT(expect_error(ExitCode::kUsage, [] { parse_columns(""); }),
                testing::HasSubstr("'' is none of time, cpu"));
}
}  // namespace
}  // namespace djprobe::loader
