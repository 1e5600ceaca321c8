// SPDX-License-Identifier: GPL-2.0
#include "kernel/site_spec.h"

#include "expect_error.h"
#include "kernel/place.h"

namespace djprobe::loader {
namespace {

TEST(SiteSpec, function_alone) {
    const SiteSpec site = parse_function("vfs_read");
    EXPECT_EQ(site.symbol, "vfs_read");
    EXPECT_EQ(site.offset, 0U);
    EXPECT_EQ(site.address, 0U);
    EXPECT_EQ(site.str(), "vfs_read");
}

TEST(SiteSpec, offset_in_decimal_and_hexadecimal) {
    EXPECT_EQ(parse_function("vfs_read+10").offset, 10U);
    EXPECT_EQ(parse_function("vfs_read+0x10").offset, 16U);
    EXPECT_EQ(parse_function("vfs_read+0X1f").offset, 31U);
    EXPECT_EQ(parse_function("vfs_read+0").offset, 0U);
    EXPECT_EQ(parse_function("vfs_read+010").offset, 10U);
    EXPECT_EQ(parse_function("vfs_read+10").str(), "vfs_read+0xa");
}

TEST(SiteSpec, module_and_compilers_suffixes) {
    const SiteSpec site = parse_function("ext4:ext4_find_entry.isra.0+0x1c");
    EXPECT_EQ(site.symbol, "ext4:ext4_find_entry.isra.0");
    EXPECT_EQ(site.offset, 0x1cU);
    EXPECT_EQ(site.str(), "ext4:ext4_find_entry.isra.0+0x1c");
}

TEST(SiteSpec, glob_stands_for_functions_and_takes_no_offset) {
    for (const char* text : {"vfs_*", "ext4:ext4_?ead", "vfs_[rw]*"})
        EXPECT_TRUE(parse_function(text).is_glob()) << text;
    EXPECT_FALSE(parse_function("ext4_find_entry.isra.0+4").is_glob());
    EXPECT_EQ(expect_error(ExitCode::kUsage, [] { parse_function("vfs_*+4"); }),
              "'vfs_*+4': functions by a pattern are probed at their entries: leave out '+4'");
}

TEST(SiteSpec, what_is_no_function) {
    for (const char* text : {"", "+4", ":", "ext4:", ":vfs_read", ":+4", "vfs read", "vfs\nread"}) {
        const std::string message = expect_error(ExitCode::kUsage, [&] { parse_function(text); });
        EXPECT_EQ(message, fmt::format("'{}' is not a function: write SYM, SYM+OFFSET or "
                                       "MODULE:SYM",
                                       text));
    }
}

TEST(SiteSpec, several_are_given_by_themselves) {
    EXPECT_EQ(expect_error(ExitCode::kUsage, [] { parse_function("vfs_read,vfs_write"); }),
              "'vfs_read,vfs_write' is not a function, but several: give each one by itself");
}

TEST(SiteSpec, addresses_have_an_option_of_their_own) {
    EXPECT_EQ(
        expect_error(ExitCode::kUsage, [] { parse_function("0xffffffff81000000"); }),
        "'0xffffffff81000000' is an address, not a function: give it to attach or explain with "
        "--address; 'probeload explain --address 0xffffffff81000000' shows its name");
}

TEST(SiteSpec, source_lines_are_no_functions_of_modules) {
    for (const char* text : {"fs/read_write.c:470", "read_write.c:vfs_read", "vfs_read:470",
                             "./fs/read_write.c:470+3", "fs/read_write.c:470:9"}) {
        const std::string message = expect_error(ExitCode::kUsage, [&] { parse_function(text); });
        EXPECT_EQ(message,
                  fmt::format("'{0}' is a place in a source file, which 'probeload trace {0}' "
                              "knows ('probeload lines FUNC' lists a function's); here "
                              "write FUNC, FUNC+OFFSET or MODULE:FUNC",
                              text));
    }
    EXPECT_EQ(parse_function("ext4:f.isra.0").symbol, "ext4:f.isra.0");
    EXPECT_TRUE(parse_function("*:[[:digit:]]*").is_glob());
}

TEST(SiteSpec, offsets_are_never_negative) {
    EXPECT_EQ(expect_error(ExitCode::kUsage, [] { parse_function("vfs_read-5"); }),
              "'vfs_read-5': offsets count from a function's start: write SYM+OFFSET, never '-5'");
    expect_error(ExitCode::kUsage, [] { parse_function("vfs_read-0x10"); });
    EXPECT_TRUE(parse_function("vfs_[a-z]*").is_glob());
}

TEST(SiteSpec, what_is_no_offset) {
    for (const char* text : {"f+", "f+x", "f+0x", "f+-1", "f+1g", "f+0x1+2",
                             "f+0x10000000000000000", "f+18446744073709551616"}) {
        expect_error(ExitCode::kUsage, [&] { parse_function(text); });
    }
    EXPECT_EQ(expect_error(ExitCode::kUsage, [] { parse_function("f+9x"); }),
              "'f+9x': the offset '9x' is no number of 64 bits, decimal or 0x-hexadecimal");
}

TEST(SiteSpec, address_is_hexadecimal_with_or_without_0x) {
    EXPECT_EQ(parse_address("0xffffffff812c4b10").address, 0xffffffff812c4b10U);
    EXPECT_EQ(parse_address("ffffffff812c4b10").address, 0xffffffff812c4b10U);
    EXPECT_EQ(parse_address("0xffffffff812c4b10").str(), "0xffffffff812c4b10");
    EXPECT_TRUE(parse_address("10").symbol.empty());
}

TEST(SiteSpec, what_is_no_address) {
    for (const char* text : {"", "0x", "0", "vfs_read", "0x1ffffffff812c4b100", "-1"}) {
        expect_error(ExitCode::kUsage, [&] { parse_address(text); });
    }
}

TEST(SiteSpec, name_that_no_function_can_have) {
    EXPECT_EQ(parse_function(std::string(511, 'a')).symbol.size(), 511U);
    EXPECT_EQ(expect_error(ExitCode::kUsage, [] { parse_function(std::string(512, 'a')); }),
              "'" + std::string(32, 'a') +
                  "...' is not a function: its name has 512 letters, more than 511");
}

TEST(Place, is_an_instruction_or_all_returns) {
    EXPECT_FALSE(parse_place("ext4:ext4_readdir+4").at_returns);
    const Place returns = parse_place("ext4:ext4_readdir:return");
    EXPECT_TRUE(returns.at_returns);
    EXPECT_EQ(returns.site.symbol, "ext4:ext4_readdir");
    EXPECT_EQ(returns.str(), "ext4:ext4_readdir:return");
    EXPECT_NE(returns, parse_place("ext4:ext4_readdir"));
}

TEST(Place, whose_return_is_misspelt_is_told) {
    const auto refused = [](const char* text) {
        return expect_error(ExitCode::kUsage, [&] { parse_place(text); });
    };
    EXPECT_EQ(refused("f:retrun"), "f:retrun: did you mean f:return?");
    EXPECT_EQ(refused("f:return:return"),
              "f:return:return: ':return' stands there twice: write "
              "f:return");
    EXPECT_EQ(refused("f:return+4"), "f:return+0x4: returns have no offset: write f:return");
}

}  // namespace
}  // namespace djprobe::loader
