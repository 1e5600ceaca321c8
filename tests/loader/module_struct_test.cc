// SPDX-License-Identifier: GPL-2.0
#include "survey/module_struct.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "btf_builder.h"

namespace djprobe::loader {
namespace {

constexpr std::uint64_t kModuleText = 0xffffffffc0800000;

std::vector<std::uint8_t> bytes_of(std::uint64_t base, std::uint32_t size, std::size_t base_at,
                                   std::size_t size_at) {
    std::vector<std::uint8_t> bytes(std::max(base_at + 8, size_at + 4));
    std::memcpy(bytes.data() + base_at, &base, sizeof base);
    std::memcpy(bytes.data() + size_at, &size, sizeof size);
    return bytes;
}

TEST(ModuleStruct, a_kind_of_memory_each) {
    BtfBuilder types;
    const int number = types.u64(), length = types.u32();
    const int kind = types.structure("module_memory", 24);
    types.member("base", number, 0);
    types.member("is_rox", length, 8);
    types.member("size", length, 12);
    const int kinds = types.array(kind, 7);
    types.structure("module", 1000);
    types.member("state", length, 0);
    types.member("mem", kinds, 64);
    const auto found = find_module_struct(*types);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->base, 64U);
    EXPECT_EQ(found->size, 76U);
    EXPECT_EQ(found->text_size(bytes_of(kModuleText, 0x3000, 64, 76), kModuleText), 0x3000U);
}

TEST(ModuleStruct, one_area_for_all) {
    BtfBuilder types;
    const int number = types.u64(), length = types.u32();
    const int area = types.structure("module_layout", 24);
    types.member("base", number, 0);
    types.member("size", length, 8);
    types.member("text_size", length, 12);
    types.structure("module", 1000);
    types.member("core_layout", area, 128);
    const auto found = find_module_struct(*types);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->base, 128U);
    EXPECT_EQ(found->size, 140U);
}

TEST(ModuleStruct, says_nothing_of_another_text) {
    const ModuleStruct where{8, 20};
    EXPECT_EQ(where.text_size(bytes_of(kModuleText, 0x1000, 8, 20), kModuleText), 0x1000U);
    EXPECT_FALSE(where.text_size(bytes_of(kModuleText + 0x1000, 0x1000, 8, 20), kModuleText));
    EXPECT_FALSE(where.text_size(bytes_of(kModuleText, 0, 8, 20), kModuleText));
    auto cut = bytes_of(kModuleText, 0x1000, 8, 20);
    cut.pop_back();
    EXPECT_FALSE(where.text_size(cut, kModuleText));
}

TEST(ModuleStruct, is_not_in_all_types) {
    BtfBuilder none;
    EXPECT_FALSE(find_module_struct(*none));
    BtfBuilder other;
    const int state = other.u32();
    other.structure("module", 8);
    other.member("state", state, 0);
    EXPECT_FALSE(find_module_struct(*other));
    BtfBuilder odd;
    const int number = odd.u64();
    odd.structure("module", 8);
    odd.member("mem", number, 0);
    EXPECT_FALSE(find_module_struct(*odd));
}

}  // namespace
}  // namespace djprobe::loader
