// SPDX-License-Identifier: GPL-2.0
#include <cstdint>

#include "base/error.h"
#include "btf_builder.h"

namespace djprobe::loader {
namespace {

TEST(DecodeString, ends_at_its_nul) {
    BtfBuilder btf;
    const int text = btf.array(btf.character(), 8);
    const int type = btf.structure("event", 8);
    btf.member("comm", text, 0);
    const Record record = Record(8).put_text(0, {"cat\0xyz", 7});
    EXPECT_EQ(to_text(btf, type, record), R"(event comm="cat")");
    EXPECT_EQ(to_json(btf, type, record)["comm"], "cat");
}

TEST(DecodeString, without_a_nul_ends_with_the_array) {
    BtfBuilder btf;
    const int text = btf.array(btf.character(), 4);
    const int type = btf.structure("event", 8);
    btf.member("comm", text, 0);
    EXPECT_EQ(to_json(btf, type, Record(8).put_text(0, "abcdefgh"))["comm"], "abcd");
}

TEST(DecodeString, through_a_typedef_of_char) {
    BtfBuilder btf;
    const int letter = BtfBuilder::check(btf__add_typedef(btf.get(), "letter", btf.character()));
    const int text = btf.array(letter, 4);
    const int type = btf.structure("event", 4);
    btf.member("s", text, 0);
    EXPECT_EQ(to_text(btf, type, Record(4).put_text(0, "ok")), R"(event s="ok")");
}

TEST(DecodeString, array_of_strings) {
    BtfBuilder btf;
    const int text = btf.array(btf.array(btf.character(), 4), 2);
    const int type = btf.structure("event", 8);
    btf.member("argv", text, 0);
    const Record record = Record(8).put_text(0, "ls").put_text(4, "-l");
    EXPECT_EQ(to_text(btf, type, record), R"(event argv=["ls", "-l"])");
    EXPECT_EQ(to_json(btf, type, record)["argv"], (nlohmann::json{"ls", "-l"}));
}

TEST(DecodeArray, bytes_are_numbers) {
    BtfBuilder btf;
    const int bytes = btf.array(btf.u8(), 4);
    const int type = btf.structure("event", 4);
    btf.member("ip", bytes, 0);
    EXPECT_EQ(to_text(btf, type, Record(4).put_text(0, {"\x7f\x00\x00\x01", 4})),
              "event ip=[127, 0, 0, 1]");
}

TEST(DecodeArray, of_arrays) {
    BtfBuilder btf;
    const int matrix = btf.array(btf.array(btf.u16(), 2), 2);
    const int type = btf.structure("event", 8);
    btf.member("m", matrix, 0);
    const Record record = Record(8)
                              .put(0, std::uint16_t{1})
                              .put(2, std::uint16_t{2})
                              .put(4, std::uint16_t{3})
                              .put(6, std::uint16_t{4});
    EXPECT_EQ(to_json_text(btf, type, record), R"({"m":[[1,2],[3,4]]})");
}

TEST(DecodeArray, of_structs_with_members_behind_it) {
    BtfBuilder btf;
    const int u32 = btf.u32();
    const int point = btf.structure("point", 8);
    btf.member("x", u32, 0);
    btf.member("y", u32, 4);
    const int points = btf.array(point, 2);
    const int type = btf.structure("event", 20);
    btf.member("points", points, 0);
    btf.member("after", u32, 16);
    const Record record = Record(20).put(0, 1U).put(4, 2U).put(8, 3U).put(12, 4U).put(16, 5U);
    EXPECT_EQ(to_text(btf, type, record), "event points=[{x=1 y=2}, {x=3 y=4}] after=5");
    EXPECT_EQ(to_json_text(btf, type, record),
              R"({"points":[{"x":1,"y":2},{"x":3,"y":4}],"after":5})");
}

TEST(DecodeArray, empty_in_the_middle) {
    BtfBuilder btf;
    const int none = btf.array(btf.u32(), 0);
    const int u32 = btf.u32();
    const int type = btf.structure("event", 4);
    btf.member("none", none, 0);
    btf.member("a", u32, 0);
    EXPECT_EQ(to_json_text(btf, type, Record(4).put(0, 1U)), R"({"none":[],"a":1})");
}

TEST(DecodeArray, flexible_tail_reaches_to_the_end_of_the_record) {
    BtfBuilder btf;
    const int tail = btf.array(btf.u64(), 0);
    const int u32 = btf.u32();
    const int type = btf.structure("event", 8);
    btf.member("n", u32, 0);
    btf.member("tail", tail, 8);
    EXPECT_EQ(to_json_text(btf, type, Record(8)), R"({"n":0,"tail":[]})");
    const Record record = Record(24).put(8, std::uint64_t{1}).put(16, std::uint64_t{2});
    EXPECT_EQ(to_json_text(btf, type, record), R"({"n":0,"tail":[1,2]})");
}

// The type has 16 bytes, of which the array's first elements are the last 7.
TEST(DecodeArray, flexible_tail_may_end_before_the_types_padding) {
    BtfBuilder btf;
    const int u64 = btf.u64(), u8 = btf.u8(), text = btf.array(btf.character(), 0);
    const int type = btf.structure("event", 16);
    btf.member("ts", u64, 0);
    btf.member("n", u8, 8);
    btf.member("data", text, 9);
    EXPECT_EQ(to_text(btf, type, Record(12).put_text(8, "\3abc")), "event ts=0 n=3 data=\"abc\"");
    EXPECT_EQ(to_text(btf, type, Record(9)), "event ts=0 n=0 data=\"\"");
    const DecodePlan plan =
        DecodePlan::compile(*btf, static_cast<std::uint32_t>(type), Format::kText);
    EXPECT_FALSE(plan.accepts(8));
}

TEST(DecodeArray, flexible_tail_is_behind_all_that_is_read) {
    BtfBuilder btf;
    const int u32 = btf.u32(), pair = btf.array(u32, 2), tail = btf.array(btf.u8(), 0);
    const int type = btf.structure("overlapping", 16);
    btf.member("pair", pair, 8);
    btf.member("tail", tail, 4);
    EXPECT_EQ(DecodePlan::compile(*btf, static_cast<std::uint32_t>(type), Format::kText).size(),
              16U);
}

TEST(DecodeArray, flexible_text_reaches_to_the_end_of_the_record) {
    BtfBuilder btf;
    const int tail = btf.array(btf.character(), 0);
    const int u32 = btf.u32();
    const int type = btf.structure("event", 4);
    btf.member("n", u32, 0);
    btf.member("path", tail, 4);
    EXPECT_EQ(to_json(btf, type, Record(8).put_text(4, "/etc"))["path"], "/etc");
}

TEST(DecodeStruct, nested_ones_are_objects) {
    BtfBuilder btf;
    const int u32 = btf.u32();
    const int inner = btf.structure("inner", 4);
    btf.member("a", u32, 0);
    const int type = btf.structure("event", 8);
    btf.member("in", inner, 0);
    btf.member("b", u32, 4);
    const Record record = Record(8).put(0, 1U).put(4, 2U);
    EXPECT_EQ(to_text(btf, type, record), "event in={a=1} b=2");
    EXPECT_EQ(to_json_text(btf, type, record), R"({"in":{"a":1},"b":2})");
}

TEST(DecodeStruct, members_of_anonymous_ones_belong_to_the_outer) {
    BtfBuilder btf;
    const int u32 = btf.u32();
    const int anonymous = btf.structure(nullptr, 8);
    btf.member("b", u32, 0);
    btf.member("c", u32, 4);
    const int type = btf.structure("event", 12);
    btf.member("a", u32, 0);
    btf.member(nullptr, anonymous, 4);
    const Record record = Record(12).put(0, 1U).put(4, 2U).put(8, 3U);
    EXPECT_EQ(to_text(btf, type, record), "event a=1 b=2 c=3");
    EXPECT_EQ(to_json_text(btf, type, record), R"({"a":1,"b":2,"c":3})");
}

TEST(DecodeStruct, anonymous_first_member_gets_no_comma) {
    BtfBuilder btf;
    const int u32 = btf.u32();
    const int anonymous = btf.structure(nullptr, 4);
    btf.member("b", u32, 0);
    const int type = btf.structure("event", 4);
    btf.member(nullptr, anonymous, 0);
    EXPECT_EQ(to_json_text(btf, type, Record(4)), R"({"b":0})");
}

TEST(DecodeStruct, union_shows_every_view) {
    BtfBuilder btf;
    const int u32 = btf.u32(), s32 = btf.s32();
    const int either = BtfBuilder::check(btf__add_union(btf.get(), "either", 4));
    btf.member("u", u32, 0);
    btf.member("s", s32, 0);
    const int type = btf.structure("event", 4);
    btf.member("v", either, 0);
    EXPECT_EQ(to_text(btf, type, Record(4).put(0, -1)), "event v={u=4294967295 s=-1}");
}

TEST(DecodeStruct, without_members) {
    BtfBuilder btf;
    const int type = btf.structure("event", 0);
    EXPECT_EQ(to_text(btf, type, Record(0)), "event");
    EXPECT_EQ(to_json_text(btf, type, Record(0)), "{}");
}

TEST(DecodeStruct, takes_no_record_of_another_size) {
    BtfBuilder btf;
    const int u32 = btf.u32();
    const int type = btf.structure("event", 4);
    btf.member("a", u32, 0);
    const DecodePlan plan =
        DecodePlan::compile(*btf, static_cast<std::uint32_t>(type), Format::kText);
    EXPECT_FALSE(plan.accepts(3));
    EXPECT_TRUE(plan.accepts(4));
    EXPECT_FALSE(plan.accepts(5));
}

TEST(DecodeStruct, member_beyond_the_end_is_an_error) {
    BtfBuilder btf;
    const int u64 = btf.u64();
    const int pair = btf.array(u64, 2);
    const int scalar = btf.structure("scalar", 8);
    btf.member("a", u64, 4);
    const int array = btf.structure("array", 12);
    btf.member("a", pair, 0);
    const int bits = btf.structure("bits", 8);
    btf.bits("a", u64, 60, 5);
    for (const int type : {scalar, array, bits}) {
        EXPECT_THROW(DecodePlan::compile(*btf, static_cast<std::uint32_t>(type), Format::kJson),
                     Error);
    }
}

TEST(DecodeText, columns_keep_the_widest_value_seen) {
    BtfBuilder btf;
    const int u32 = btf.u32();
    const int type = btf.structure("event", 8);
    btf.member("a", u32, 0);
    btf.member("b", u32, 4);
    Formatter formatter(
        DecodePlan::compile(*btf, static_cast<std::uint32_t>(type), Format::kText, "event", "\n"));
    Buffer out;
    formatter.append(out, Record(8).put(0, 1000U).bytes());
    formatter.append(out, Record(8).put(0, 1U).bytes());
    EXPECT_EQ(std::string(out.data(), out.size()), "event a=1000 b=0\nevent a=1    b=0\n");
}

TEST(DecodeText, very_wide_value_does_not_push_later_lines) {
    BtfBuilder btf;
    const int text = btf.array(btf.character(), 100);
    const int u8 = btf.u8();
    const int type = btf.structure("event", 101);
    btf.member("s", text, 0);
    btf.member("b", u8, 100);
    Formatter formatter(DecodePlan::compile(*btf, static_cast<std::uint32_t>(type), Format::kText));
    Buffer out;
    formatter.append(out, Record(101).put_text(0, std::string(100, 'x')).bytes());
    out.clear();
    formatter.append(out, Record(101).bytes());
    EXPECT_EQ(out.size(), std::string("s= b=0").size() + 32);
}

TEST(DecodeHotPath, does_not_grow_the_buffer_again) {
    BtfBuilder btf;
    const int u64 = btf.u64();
    const int type = btf.structure("event", 8);
    btf.member("a", u64, 0);
    Formatter formatter(DecodePlan::compile(*btf, static_cast<std::uint32_t>(type), Format::kJson));
    Buffer out;
    const Record record = Record(8).put(0, ~std::uint64_t{0});
    for (int i = 0; i < 1000; ++i)
        formatter.append(out, record.bytes());
    const std::size_t capacity = out.capacity();
    out.clear();
    for (int i = 0; i < 1000; ++i)
        formatter.append(out, record.bytes());
    EXPECT_EQ(out.capacity(), capacity);
}

}  // namespace
}  // namespace djprobe::loader
