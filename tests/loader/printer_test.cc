// SPDX-License-Identifier: GPL-2.0
#include "events/printer.h"

#include <cstdint>

#include "btf_builder.h"

namespace djprobe::loader {
namespace {

class Printing : public testing::Test {
  protected:
    void SetUp() override {
        const int u32 = btf_.u32();
        btf_.structure("event", 8);
        btf_.member("pid", u32, 0);
        btf_.member("n", u32, 4);
    }

    std::string print(RecordPrinter& printer, const Record& record) {
        Buffer out;
        printer.print(out, record.bytes());
        return {out.data(), out.size()};
    }

    BtfBuilder btf_;
};

TEST_F(Printing, text_line) {
    RecordPrinter printer(btf_.get(), "events", true, {Format::kText, RecordSize::kExact});
    EXPECT_EQ(print(printer, Record(8).put(0, 7U).put(4, 9U)), "event pid=7 n=9\n");
}

TEST_F(Printing, json_line) {
    RecordPrinter printer(btf_.get(), "events", true, {Format::kJson, RecordSize::kExact});
    const std::string line = print(printer, Record(8).put(0, 7U).put(4, 9U));
    EXPECT_EQ(line, "{\"type\":\"event\",\"name\":\"event\",\"data\":{\"pid\":7,\"n\":9}}\n");
    EXPECT_EQ(nlohmann::json::parse(line)["data"]["n"], 9);
}

TEST_F(Printing, wrong_size_is_dumped_and_explained_once) {
    RecordPrinter printer(btf_.get(), "events", true, {Format::kText, RecordSize::kExact});
    testing::internal::CaptureStderr();
    const std::string first = print(printer, Record(12).put_text(0, "hello\xff"));
    const std::string second = print(printer, Record(4));
    EXPECT_EQ(first,
              "events: 12 bytes\n"
              "  0000  68 65 6c 6c 6f ff 00 00 00 00 00 00              |hello.......|\n");
    EXPECT_EQ(second.rfind("events: 4 bytes\n", 0), 0U);
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "probeload: map 'events': a record of 12 bytes is not a 'event' of 8 bytes and is "
              "dumped: send whole records of that type, or name the record's type after the map\n");
}

TEST_F(Printing, says_nothing_where_it_must_not) {
    RecordPrinter printer(btf_.get(), "events", true, {.format = Format::kJson, .explains = false});
    testing::internal::CaptureStderr();
    EXPECT_EQ(print(printer, Record(1)),
              "{\"type\":\"raw\",\"map\":\"events\",\"size\":1,\"hex\":\"00\"}\n");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(Printing, good_record_after_a_wrong_one_is_decoded) {
    RecordPrinter printer(btf_.get(), "events", true, {Format::kText, RecordSize::kExact});
    testing::internal::CaptureStderr();
    print(printer, Record(3));
    testing::internal::GetCapturedStderr();
    EXPECT_EQ(print(printer, Record(8)), "event pid=0 n=0\n");
}

TEST_F(Printing, unknown_type_is_dumped_with_what_to_add) {
    RecordPrinter printer(btf_.get(), "calls", true, {Format::kJson, RecordSize::kExact});
    testing::internal::CaptureStderr();
    EXPECT_EQ(print(printer, Record(3).put_text(0, "\x01\x02\xff")),
              "{\"type\":\"raw\",\"map\":\"calls\",\"size\":3,\"hex\":\"0102ff\"}\n");
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "probeload: map 'calls': no type for its records, they are dumped: name the record "
              "'struct call' and add 'const struct call *unused_call __attribute__((unused));' to "
              "the program\n");
}

TEST_F(Printing, object_without_types_is_told_to_use_g) {
    RecordPrinter printer(nullptr, "events", true, {Format::kText, RecordSize::kExact});
    testing::internal::CaptureStderr();
    print(printer, Record(1));
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "probeload: map 'events': the object has no types, its records are dumped: compile "
              "with -g\n");
}

TEST_F(Printing, perf_records_may_be_padded) {
    RecordPrinter exact(btf_.get(), "events", true, {Format::kText, RecordSize::kExact});
    RecordPrinter padded(btf_.get(), "events", true, {Format::kText, RecordSize::kPadded});
    testing::internal::CaptureStderr();
    EXPECT_EQ(print(padded, Record(12)), "event pid=0 n=0\n");
    EXPECT_EQ(print(padded, Record(16)).rfind("events: 16 bytes\n", 0), 0U);
    EXPECT_EQ(print(exact, Record(12)).rfind("events: 12 bytes\n", 0), 0U);
    testing::internal::GetCapturedStderr();
}

// What the kernel pads with would be taken for elements.
TEST(PrintingPadded, array_of_unknown_length_is_dumped_and_explained) {
    BtfBuilder btf;
    const int u64 = btf.u64(), tail = btf.array(btf.u32(), 0);
    btf.structure("event", 8);
    btf.member("ts", u64, 0);
    btf.member("data", tail, 8);
    RecordPrinter printer(btf.get(), "events", true, {Format::kText, RecordSize::kPadded});
    Buffer out;
    testing::internal::CaptureStderr();
    printer.print(out, Record(16).bytes());
    EXPECT_EQ(fmt::to_string(out).rfind("events: 16 bytes\n", 0), 0U) << fmt::to_string(out);
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "probeload: map 'events': where the array at the end of a 'event' ends is not known, "
              "as the kernel pads the records of a perf event array; they are dumped: use a ring "
              "buffer\n");
}

TEST(PrintingPadded, elements_larger_than_the_padding_are_counted) {
    BtfBuilder btf;
    const int u32 = btf.u32(), tail = btf.array(btf.u64(), 0);
    btf.structure("event", 8);
    btf.member("n", u32, 0);
    btf.member("data", tail, 8);
    RecordPrinter printer(btf.get(), "events", true, {Format::kText, RecordSize::kPadded});
    Buffer out;
    printer.print(out, Record(28).bytes());
    EXPECT_EQ(fmt::to_string(out), "event n=0 data=[0, 0]\n");
}

TEST_F(Printing, raw_is_a_header_and_the_bytes_whatever_the_type) {
    RecordPrinter printer(btf_.get(), "events", true, {Format::kRaw, RecordSize::kExact, 3});
    const std::string one = print(printer, Record(8).put(0, 7U).put(4, 9U));
    EXPECT_EQ(one, std::string("\x08\0\0\0\x03\0\0\0\x07\0\0\0\x09\0\0\0", 16));
    testing::internal::CaptureStderr();
    EXPECT_EQ(print(printer, Record(1)), std::string("\x01\0\0\0\x03\0\0\0\0", 9));
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(Printing, hexdump_has_sixteen_bytes_a_line) {
    RecordPrinter printer(nullptr, "m", true, {Format::kText, RecordSize::kExact});
    testing::internal::CaptureStderr();
    EXPECT_EQ(print(printer, Record(17)),
              "m: 17 bytes\n"
              "  0000  00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00  |................|\n"
              "  0010  00                                               |.|\n");
    testing::internal::GetCapturedStderr();
}

}  // namespace
}  // namespace djprobe::loader
