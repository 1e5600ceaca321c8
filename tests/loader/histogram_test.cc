// SPDX-License-Identifier: GPL-2.0
#include "decode/histogram.h"

#include <algorithm>

#include "btf_builder.h"

namespace djprobe::loader {
namespace {

std::span<const std::byte> bytes(const auto& values) {
    return std::as_bytes(std::span(values));
}

TEST(Histogram, is_an_array_of_slots_wherever_it_lies) {
    BtfBuilder btf;
    const int slots = btf.array(btf.u32(), 27), number = btf.u64();
    const int inner = btf.structure("hist", 116);
    btf.member("latency", number, 0);
    btf.member("slots", slots, 8);
    const int hists = btf.array(inner, 2);
    const int outer = btf.structure("outer", 240);
    btf.member("counts", number, 0);
    btf.member("hists", hists, 8);
    const auto found = histograms_in(*btf, outer, "value");
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].path, ".hists[0].slots");
    EXPECT_EQ(found[0].offset, 16U);
    EXPECT_EQ(found[1].path, ".hists[1].slots");
    EXPECT_EQ(found[1].offset, 132U);
    EXPECT_EQ(found[1].slots, 27U);
    EXPECT_EQ(histograms_in(*btf, slots, "hist").front().path, "");
    EXPECT_TRUE(histograms_in(*btf, slots, "stats").empty());
    EXPECT_TRUE(histograms_in(*btf, btf.array(btf.u16(), 27), "slots").empty());
    EXPECT_TRUE(histograms_in(*btf, btf.array(btf.u64(), 65), "slots").empty());
}

TEST(Histogram, of_a_type_in_itself_ends) {
    BtfBuilder btf;
    const int node = btf.structure("node", 8);
    btf.member("next", node, 0);
    EXPECT_TRUE(histograms_in(*btf, node, "node").empty());
}

TEST(Histogram, is_drawn_from_the_first_to_the_last_full_slot) {
    const std::uint32_t values[] = {9, 0, 1, 4, 0, 2, 0};
    EXPECT_EQ(
        draw({"", 4, 4, 6}, bytes(values)),
        "           2 -> 3                     1 |**********                              |\n"
        "           4 -> 7                     4 |****************************************|\n"
        "           8 -> 15                    0 |                                        |\n"
        "          16 -> 31                    2 |********************                    |\n");
}

TEST(Histogram, reaches_from_0_to_the_largest_number) {
    std::uint64_t values[64] = {};
    EXPECT_EQ(draw({"", 0, 8, 64}, bytes(values)), "");
    values[0] = values[63] = ~0ULL;
    const std::string text = draw({"", 0, 8, 64}, bytes(values));
    EXPECT_NE(text.find("           0 -> 1            18446744073709551615 |****"), text.npos)
        << text;
    EXPECT_NE(text.find("9223372036854775808 -> 18446744073709551615 "), text.npos) << text;
    EXPECT_EQ(std::ranges::count(text, '\n'), 64);
}

TEST(Histogram, beyond_the_value_is_empty) {
    const std::uint32_t values[] = {1};
    EXPECT_EQ(draw({"", 4, 4, 3}, bytes(values)), "");
}

}  // namespace
}  // namespace djprobe::loader
