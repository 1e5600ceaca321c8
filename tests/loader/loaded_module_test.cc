// SPDX-License-Identifier: GPL-2.0
#include "survey/loaded_module.h"

#include <gtest/gtest.h>

namespace djprobe::loader {
namespace {

constexpr std::uint64_t kBase = 0xffffffffc0000000;

TEST(LoadedModule, all_in_one_area) {
    const auto module = lay_out_module("ext4", kBase, 0x4000,
                                       {{".rodata", {kBase + 0x2000, 0}},
                                        {".text", {kBase, 0}},
                                        {".exit.text", {kBase + 0x1040, 0}},
                                        {"__ex_table", {kBase + 0x2100, 0}},
                                        {".data", {kBase + 0x3000, 0}},
                                        {".init.text", {kBase + 0x1100, 0}}});
    ASSERT_TRUE(module);
    EXPECT_EQ(module->name, "ext4");
    EXPECT_EQ(module->text.begin, kBase);
    EXPECT_EQ(module->text.end, kBase + 0x2000);
    EXPECT_EQ(module->section(".text").end, kBase + 0x1040);
    EXPECT_EQ(module->section("__ex_table").end, kBase + 0x3000);
    EXPECT_EQ(module->section(".init.text").size(), 0U) << "freed";
    EXPECT_EQ(module->section("__jump_table").size(), 0U) << "none";
}

TEST(LoadedModule, constants_are_all_that_lies_with_them) {
    const auto module = lay_out_module("ext4", kBase, 0x9000,
                                       {{".text", {kBase, 0}},
                                        {"__patchable_function_entries", {kBase + 0x2000, 0}},
                                        {".data", {kBase + 0x2100, 0}},
                                        {".note.Linux", {kBase + 0x4000, 0}},
                                        {".rodata", {kBase + 0x4020, 0}},
                                        {".parainstructions", {kBase + 0x4100, 0}},
                                        {".bss", {kBase + 0x5000, 0}}});
    ASSERT_TRUE(module);
    ASSERT_EQ(module->constants().size(), 1U);
    EXPECT_EQ(module->constants().front().begin, kBase + 0x4000);
    EXPECT_EQ(module->constants().front().end, kBase + 0x5000);
}

TEST(LoadedModule, an_area_for_each_kind_of_memory) {
    const auto module = lay_out_module("ext4", kBase, 0x3000,
                                       {{".text", {kBase, 0}},
                                        {".rodata", {kBase + 0x100000, 0}},
                                        {".data", {kBase - 0x9000, 0}}});
    ASSERT_TRUE(module);
    EXPECT_EQ(module->text.begin, kBase);
    EXPECT_EQ(module->text.end, kBase + 0x3000) << "no more than all of it";
    EXPECT_EQ(module->section(".rodata").end, kBase + 0x103000);
    EXPECT_EQ(module->section(".data").end, kBase - 0x6000);
}

TEST(LoadedModule, one_without_text_cannot_be_probed) {
    EXPECT_FALSE(lay_out_module("data", kBase, 0x1000, {{".data", {kBase, 0}}}));
    EXPECT_FALSE(lay_out_module("gone", kBase, 0x1000, {}));
    EXPECT_FALSE(lay_out_module("hidden", 0, 0x1000, {{".text", {kBase, 0}}}));
}

}  // namespace
}  // namespace djprobe::loader
