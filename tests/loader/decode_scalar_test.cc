// SPDX-License-Identifier: GPL-2.0
#include <cstdint>
#include <limits>

#include "btf_builder.h"

namespace djprobe::loader {
namespace {

TEST(DecodeScalar, unsigned_integers_of_every_size_keep_their_largest_value) {
    BtfBuilder btf;
    const int u8 = btf.u8(), u16 = btf.u16(), u32 = btf.u32(), u64 = btf.u64();
    const int type = btf.structure("event", 16);
    btf.member("a", u8, 0);
    btf.member("b", u16, 2);
    btf.member("c", u32, 4);
    btf.member("d", u64, 8);
    const Record record = Record(16)
                              .put(0, std::uint8_t{255})
                              .put(2, std::uint16_t{65535})
                              .put(4, std::uint32_t{4294967295})
                              .put(8, std::numeric_limits<std::uint64_t>::max());
    EXPECT_EQ(to_text(btf, type, record),
              "event a=255 b=65535 c=4294967295 d=18446744073709551615");
    EXPECT_EQ(to_json_text(btf, type, record),
              R"({"a":255,"b":65535,"c":4294967295,"d":18446744073709551615})");
}

TEST(DecodeScalar, signed_integers_of_every_size_keep_their_smallest_value) {
    BtfBuilder btf;
    const int s8 = btf.integer("signed char", 1, BTF_INT_SIGNED);
    const int s16 = btf.integer("short", 2, BTF_INT_SIGNED);
    const int s32 = btf.s32(), s64 = btf.s64();
    const int type = btf.structure("event", 16);
    btf.member("a", s8, 0);
    btf.member("b", s16, 2);
    btf.member("c", s32, 4);
    btf.member("d", s64, 8);
    const Record record = Record(16)
                              .put(0, std::int8_t{-128})
                              .put(2, std::int16_t{-32768})
                              .put(4, std::numeric_limits<std::int32_t>::min())
                              .put(8, std::numeric_limits<std::int64_t>::min());
    EXPECT_EQ(to_text(btf, type, record),
              "event a=-128 b=-32768 c=-2147483648 d=-9223372036854775808");
    EXPECT_EQ(to_json(btf, type, record)["d"], std::numeric_limits<std::int64_t>::min());
}

TEST(DecodeScalar, bool_is_true_for_any_bit) {
    BtfBuilder btf;
    const int boolean = btf.integer("_Bool", 1, BTF_INT_BOOL);
    const int type = btf.structure("event", 2);
    btf.member("yes", boolean, 0);
    btf.member("no", boolean, 1);
    const Record record = Record(2).put(0, std::uint8_t{2});
    EXPECT_EQ(to_text(btf, type, record), "event yes=true no=false");
    EXPECT_EQ(to_json_text(btf, type, record), R"({"yes":true,"no":false})");
}

TEST(DecodeScalar, pointer_is_hexadecimal) {
    BtfBuilder btf;
    const int pointer = BtfBuilder::check(btf__add_ptr(btf.get(), 0));
    const int type = btf.structure("event", 8);
    btf.member("ip", pointer, 0);
    const Record record = Record(8).put(0, std::uint64_t{0xffffffff812c4b19});
    EXPECT_EQ(to_text(btf, type, record), "event ip=0xffffffff812c4b19");
    EXPECT_EQ(to_json(btf, type, record)["ip"], "0xffffffff812c4b19");
}

TEST(DecodeScalar, float_has_the_shortest_digits_of_its_own_type) {
    BtfBuilder btf;
    const int narrow = BtfBuilder::check(btf__add_float(btf.get(), "float", 4));
    const int wide = BtfBuilder::check(btf__add_float(btf.get(), "double", 8));
    const int type = btf.structure("event", 16);
    btf.member("f", narrow, 0);
    btf.member("d", wide, 8);
    const Record record = Record(16).put(0, 0.1F).put(8, 0.1);
    EXPECT_EQ(to_text(btf, type, record), "event f=0.1 d=0.1");
    EXPECT_EQ(to_json(btf, type, record)["d"], 0.1);
}

TEST(DecodeScalar, float_that_is_no_number_is_null_in_json) {
    BtfBuilder btf;
    const int wide = BtfBuilder::check(btf__add_float(btf.get(), "double", 8));
    const int type = btf.structure("event", 8);
    btf.member("d", wide, 0);
    const Record record = Record(8).put(0, std::numeric_limits<double>::infinity());
    EXPECT_EQ(to_text(btf, type, record), "event d=inf");
    EXPECT_TRUE(to_json(btf, type, record)["d"].is_null());
}

TEST(DecodeScalar, int128_is_hexadecimal_with_the_high_half_first) {
    BtfBuilder btf;
    const int wide = btf.integer("__int128", 16);
    const int type = btf.structure("event", 16);
    btf.member("w", wide, 0);
    const Record record =
        Record(16).put(0, std::uint64_t{0x1122334455667788}).put(8, std::uint64_t{0xab});
    EXPECT_EQ(to_text(btf, type, record), "event w=0x00000000000000ab1122334455667788");
}

TEST(DecodeScalar, typedef_const_and_volatile_are_looked_through) {
    BtfBuilder btf;
    int id = btf.u32();
    id = BtfBuilder::check(btf__add_const(btf.get(), id));
    id = BtfBuilder::check(btf__add_typedef(btf.get(), "pid_type", id));
    id = BtfBuilder::check(btf__add_volatile(btf.get(), id));
    id = BtfBuilder::check(btf__add_restrict(btf.get(), id));
    id = BtfBuilder::check(btf__add_type_tag(btf.get(), "user", id));
    const int type = btf.structure("event", 4);
    btf.member("pid", id, 0);
    EXPECT_EQ(to_text(btf, type, Record(4).put(0, 7U)), "event pid=7");
}

TEST(DecodeScalar, value_that_is_no_struct_stands_alone) {
    BtfBuilder btf;
    const int type = btf.u64();
    EXPECT_EQ(to_text(btf, type, Record(8).put(0, std::uint64_t{5}), ""), "5");
    EXPECT_EQ(to_json(btf, type, Record(8).put(0, std::uint64_t{5})), 5);
}

TEST(DecodeScalar, type_without_a_size_is_an_error) {
    BtfBuilder btf;
    const int forward = BtfBuilder::check(btf__add_fwd(btf.get(), "task", BTF_FWD_STRUCT));
    EXPECT_THROW(DecodePlan::compile(*btf, static_cast<std::uint32_t>(forward), Format::kText),
                 std::exception);
}

TEST(DecodeEnum, known_value_by_name_and_unknown_value_by_number) {
    BtfBuilder btf;
    const int enumeration = BtfBuilder::check(btf__add_enum(btf.get(), "op", 4));
    btf__add_enum_value(btf.get(), "OP_WRITE", 1);
    btf__add_enum_value(btf.get(), "OP_READ", 0);
    const int type = btf.structure("event", 8);
    btf.member("known", enumeration, 0);
    btf.member("other", enumeration, 4);
    const Record record = Record(8).put(0, 1U).put(4, 4000000000U);
    EXPECT_EQ(to_text(btf, type, record), "event known=OP_WRITE other=4000000000");
    EXPECT_EQ(to_json_text(btf, type, record), R"({"known":"OP_WRITE","other":4000000000})");
}

TEST(DecodeEnum, negative_values_are_found_and_make_the_enum_signed) {
    BtfBuilder btf;
    const int enumeration = BtfBuilder::check(btf__add_enum(btf.get(), "result", 4));
    btf__add_enum_value(btf.get(), "FAILED", -1);
    btf__add_enum_value(btf.get(), "DONE", 0);
    const int type = btf.structure("event", 8);
    btf.member("a", enumeration, 0);
    btf.member("b", enumeration, 4);
    const Record record = Record(8).put(0, -1).put(4, -7);
    EXPECT_EQ(to_text(btf, type, record), "event a=FAILED b=-7");
}

TEST(DecodeEnum, first_of_two_names_for_one_value_is_printed) {
    BtfBuilder btf;
    const int enumeration = BtfBuilder::check(btf__add_enum(btf.get(), "e", 4));
    btf__add_enum_value(btf.get(), "FIRST", 3);
    btf__add_enum_value(btf.get(), "ALIAS", 3);
    const int type = btf.structure("event", 4);
    btf.member("e", enumeration, 0);
    EXPECT_EQ(to_text(btf, type, Record(4).put(0, 3)), "event e=FIRST");
}

TEST(DecodeEnum, enum64_uses_all_bits) {
    BtfBuilder btf;
    const int enumeration = BtfBuilder::check(btf__add_enum64(btf.get(), "big", 8, false));
    btf__add_enum64_value(btf.get(), "HUGE", 0x8000000000000001ULL);
    const int type = btf.structure("event", 16);
    btf.member("a", enumeration, 0);
    btf.member("b", enumeration, 8);
    const Record record = Record(16).put(0, 0x8000000000000001ULL).put(8, 0xffffffffffffffffULL);
    EXPECT_EQ(to_text(btf, type, record), "event a=HUGE b=18446744073709551615");
}

TEST(DecodeBitfield, fields_across_byte_borders_and_with_signs) {
    BtfBuilder btf;
    const int u32 = btf.u32(), s32 = btf.s32(), boolean = btf.integer("_Bool", 1, BTF_INT_BOOL);
    const int type = btf.structure("event", 4);
    btf.bits("low", u32, 0, 3);
    btf.bits("mid", u32, 3, 11);
    btf.bits("neg", s32, 14, 5);
    btf.bits("flag", boolean, 19, 1);
    const std::uint32_t packed =
        5U | (1234U << 3) | ((static_cast<std::uint32_t>(-9) & 31U) << 14) | (1U << 19);
    EXPECT_EQ(to_text(btf, type, Record(4).put(0, packed)),
              "event low=5 mid=1234 neg=-9 flag=true");
}

TEST(DecodeBitfield, packed_64_bits_may_straddle_nine_bytes) {
    BtfBuilder btf;
    const int u64 = btf.u64();
    const int type = btf.structure("event", 9);
    btf.bits("low", u64, 0, 3);
    btf.bits("wide", u64, 3, 64);
    const std::uint64_t wide = 0xfedcba9876543210ULL;
    const Record record =
        Record(9).put(0, (wide << 3) | 6).put(8, static_cast<std::uint8_t>(wide >> 61));
    EXPECT_EQ(to_json(btf, type, record)["low"], 6);
    EXPECT_EQ(to_json(btf, type, record)["wide"], wide);
}

TEST(DecodeBitfield, enum_in_a_bitfield_keeps_its_name_and_sign) {
    BtfBuilder btf;
    const int enumeration = BtfBuilder::check(btf__add_enum(btf.get(), "e", 4));
    btf__add_enum_value(btf.get(), "MINUS_TWO", -2);
    btf__add_enum_value(btf.get(), "ONE", 1);
    const int type = btf.structure("event", 4);
    btf.bits("a", enumeration, 0, 4);
    btf.bits("b", enumeration, 4, 4);
    btf.bits("c", enumeration, 8, 4);
    EXPECT_EQ(to_text(btf, type, Record(4).put(0, 0xfU << 8 | 1U << 4 | 0xeU)),
              "event a=MINUS_TWO b=ONE c=-1");
}

TEST(DecodeBitfield, older_btf_gives_the_width_in_the_int) {
    BtfBuilder btf;
    const int narrow = btf.u32();
    // btf__add_int() makes only whole bytes: change the encoded width as old compilers wrote it.
    auto* type =
        const_cast<btf_type*>(btf__type_by_id(btf.get(), static_cast<std::uint32_t>(narrow)));
    *reinterpret_cast<std::uint32_t*>(type + 1) = 7;
    const int outer = btf.structure("event", 4);
    btf.member("a", narrow, 0);
    EXPECT_EQ(to_text(btf, outer, Record(4).put(0, 0xffffffffU)), "event a=127");
}

}  // namespace
}  // namespace djprobe::loader
