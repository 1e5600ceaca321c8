// SPDX-License-Identifier: GPL-2.0
#include "kernel/kallsyms.h"

#include <gtest/gtest.h>

#include <system_error>

#include "kernel/similar_names.h"

namespace djprobe::loader {
namespace {

constexpr const char* kText =
    "ffffffff81000000 T _text\n"
    "ffffffff81000000 T startup_64\n"
    "ffffffff81002000 t local_helper\n"
    "ffffffff81001000 T vfs_read\n"
    "ffffffff81001100 T vfs_readv\n"
    "ffffffff81001200 t vfs_write.isra.0\n"
    "ffffffff81003000 t local_helper\n"
    "ffffffff82000000 D vfs_caches\n"
    "0000000000012000 A fixed_percpu_data\n"
    "ffffffffc0000000 t local_helper\t[ext4]\n"
    "ffffffffc0000100 t ext4_readdir\t[ext4]\n";

using Names = std::vector<std::string>;

TEST(Kallsyms, parses_names_types_and_modules_sorted_by_address) {
    const Kallsyms table = Kallsyms::parse(kText);
    ASSERT_EQ(table.symbols().size(), 11U);
    EXPECT_EQ(table.symbols().front().name, "fixed_percpu_data");
    EXPECT_EQ(table.symbols().back().name, "ext4_readdir");
    EXPECT_EQ(table.symbols().back().module, "ext4");
    EXPECT_EQ(table.symbols().back().address, 0xffffffffc0000100U);
    EXPECT_EQ(table.symbols().back().type, 't');
}

TEST(Kallsyms, skips_lines_that_are_none) {
    const Kallsyms table = Kallsyms::parse(
        "\nzz T bad_address\nffffffff81000000\nffffffff81000000 T\n"
        "ffffffff81000000 t name\t[unclosed\nffffffff81000000 T good");
    ASSERT_EQ(table.symbols().size(), 1U);
    EXPECT_EQ(table.symbols()[0].name, "good");
}

// As on Linux 7.3, which links relocate_kernel() there.
TEST(Kallsyms, what_lies_among_the_data_is_data) {
    const Kallsyms table = Kallsyms::parse(
        "ffffffff81000000 T vfs_read\n"
        "ffffffff82000000 T _sdata\n"
        "ffffffff82000000 T jiffies\n"
        "ffffffff82000100 t exc_handler\n"
        "ffffffff82000200 B late\n"
        "ffffffff82001000 T _edata\n"
        "ffffffff82002000 t init_text\n"
        "ffffffffc0000000 t ext4_readdir\t[ext4]\n");
    std::string types;
    for (const Symbol& symbol : table.symbols())
        types += symbol.type;
    EXPECT_EQ(types, "TDDdBTtt");
    EXPECT_TRUE(table.find("jiffies").empty());
    EXPECT_TRUE(table.has_data_symbol("jiffies"));
    EXPECT_TRUE(Kallsyms::parse("10 T start\n20 D _edata\n").symbols()[0].is_text());
}

TEST(Kallsyms, survives_a_move_of_the_table) {
    Kallsyms table = Kallsyms::parse("10 T a\n");
    const Kallsyms moved = std::move(table);
    EXPECT_EQ(moved.symbols()[0].name, "a");
}

TEST(Kallsyms, describes_an_address_by_the_text_symbol_below) {
    const Kallsyms table = Kallsyms::parse(kText);
    EXPECT_EQ(table.describe(0xffffffff81001009), "vfs_read+0x9");
    EXPECT_EQ(table.describe(0xffffffff81001100), "vfs_readv+0x0");
    EXPECT_EQ(table.describe(0xffffffffc0000104), "ext4:ext4_readdir+0x4");
}

TEST(Kallsyms, describes_by_the_first_of_several_names) {
    EXPECT_EQ(Kallsyms::parse(kText).describe(0xffffffff81000010), "_text+0x10");
}

TEST(Kallsyms, describes_by_number_where_no_symbol_is) {
    EXPECT_EQ(Kallsyms::parse(kText).describe(0x1000), "0x1000");
    EXPECT_EQ(Kallsyms::parse("").describe(0xffffffff81001009), "0xffffffff81001009");
    // kptr_restrict=2 shows zeros.
    EXPECT_EQ(Kallsyms::parse("0000000000000000 T vfs_read\n").describe(0xffffffff81001009),
              "0xffffffff81001009");
}

TEST(Kallsyms, finds_all_functions_of_a_name) {
    const Kallsyms table = Kallsyms::parse(kText);
    EXPECT_EQ(table.find("local_helper").size(), 3U);
    EXPECT_EQ(table.find("ext4:local_helper").size(), 1U);
    EXPECT_EQ(table.find("vfs_caches").size(), 0U);
    EXPECT_TRUE(table.has_data_symbol("vfs_caches"));
    EXPECT_FALSE(table.has_data_symbol("vfs_read"));
}

TEST(Kallsyms, unreadable_file_throws) {
    EXPECT_THROW(Kallsyms::read("/nonexistent/kallsyms"), std::system_error);
}

TEST(Kallsyms, reads_a_file_of_any_length) {
    EXPECT_GT(Kallsyms::read("/proc/kallsyms").symbols().size(), 0U);
}

TEST(EditDistance, counts_each_kind_of_edit_as_one) {
    EXPECT_EQ(edit_distance("vfs_read", "vfs_read", 3), 0U);
    EXPECT_EQ(edit_distance("vfs_read", "vfs_rea", 3), 1U);
    EXPECT_EQ(edit_distance("vfs_read", "vfs_reads", 3), 1U);
    EXPECT_EQ(edit_distance("vfs_read", "vfs_reed", 3), 1U);
    EXPECT_EQ(edit_distance("vfs_read", "vfs_raed", 3), 1U);
    EXPECT_EQ(edit_distance("kitten", "sitting", 5), 3U);
    EXPECT_EQ(edit_distance("", "abc", 5), 3U);
}

TEST(EditDistance, stops_past_the_limit) {
    EXPECT_EQ(edit_distance("abcdef", "uvwxyz", 2), 3U);
    EXPECT_EQ(edit_distance("a", "abcdefgh", 2), 3U);
}

TEST(EditDistance, swap_across_the_limit_is_found) {
    EXPECT_EQ(edit_distance("ab", "ba", 1), 1U);
    EXPECT_EQ(edit_distance("xxabyy", "xxbayy", 1), 1U);
}

TEST(SimilarNames, nearest_first) {
    const Kallsyms table = Kallsyms::parse(kText);
    EXPECT_EQ(similar_names(table, "vfs_raed", 3), (Names{"vfs_read", "vfs_readv"}));
    EXPECT_EQ(similar_names(table, "vfs_raed", 1), (Names{"vfs_read"}));
}

TEST(SimilarNames, compilers_variant_comes_first) {
    EXPECT_EQ(similar_names(Kallsyms::parse(kText), "vfs_write", 1), (Names{"vfs_write.isra.0"}));
}

TEST(SimilarNames, what_macros_make_of_a_name_comes_first) {
    const Kallsyms table = Kallsyms::parse(
        "ffffffff81001000 T sys_opena\n"
        "ffffffff81002000 T __x64_sys_openat\n"
        "ffffffff81003000 T kmem_cache_allot\n"
        "ffffffff81004000 T kmem_cache_alloc_noprof\n"
        "ffffffff81005000 t kmem_cache_alloc.constprop.0\n");
    EXPECT_EQ(similar_names(table, "sys_openat", 2), (Names{"__x64_sys_openat", "sys_opena"}));
    EXPECT_EQ(similar_names(table, "openat", 1), (Names{"__x64_sys_openat"}));
    EXPECT_EQ(
        similar_names(table, "kmem_cache_alloc", 3),
        (Names{"kmem_cache_alloc.constprop.0", "kmem_cache_alloc_noprof", "kmem_cache_allot"}));
}

TEST(SimilarNames, names_the_module_that_has_it) {
    EXPECT_EQ(similar_names(Kallsyms::parse(kText), "xfs:ext4_readdir", 1),
              (Names{"ext4:ext4_readdir"}));
}

TEST(SimilarNames, never_data_nor_far_names) {
    EXPECT_EQ(similar_names(Kallsyms::parse(kText), "vfs_cachez", 3), Names{});
    EXPECT_EQ(similar_names(Kallsyms::parse(kText), "frobnicate_the_widget", 3), Names{});
}

}  // namespace
}  // namespace djprobe::loader
