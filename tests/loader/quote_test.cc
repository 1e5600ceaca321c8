// SPDX-License-Identifier: GPL-2.0
#include "decode/quote.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace djprobe::loader {
namespace {

std::string quote(std::string_view bytes, Format format) {
    Buffer out;
    append_quoted(out, bytes, format);
    return {out.data(), out.size()};
}

std::string through_json(std::string_view bytes) {
    return nlohmann::json::parse(quote(bytes, Format::kJson)).get<std::string>();
}

TEST(Quote, plain_text_stays) {
    EXPECT_EQ(quote("cat /etc", Format::kText), R"("cat /etc")");
    EXPECT_EQ(quote("", Format::kJson), R"("")");
}

TEST(Quote, json_gives_every_ascii_character_back) {
    std::string all;
    for (char c = 0; c < 127; ++c)
        all += c;
    all += '\x7f';
    EXPECT_EQ(through_json(all), all);
}

TEST(Quote, text_escapes_control_characters_quotes_and_backslashes) {
    EXPECT_EQ(quote("a\"b\\c\n\t\r\x1b[2J\x7f", Format::kText), R"("a\"b\\c\n\t\r\x1b[2J\x7f")");
}

TEST(Quote, utf8_of_every_length_stays) {
    const std::string text = "\u00e4\u20ac\U0001f600\u07ff\u0800\uffff\U00010000\U0010ffff";
    EXPECT_EQ(quote(text, Format::kText), '"' + text + '"');
    EXPECT_EQ(through_json(text), text);
}

TEST(Quote, bytes_that_are_no_utf8_are_escaped_one_by_one) {
    EXPECT_EQ(quote("\x80", Format::kText), R"("\x80")");
    EXPECT_EQ(quote("a\xe2\x82", Format::kText), R"("a\xe2\x82")");        // cut
    EXPECT_EQ(quote("\xc0\xaf", Format::kText), R"("\xc0\xaf")");          // overlong
    EXPECT_EQ(quote("\xe0\x80\xaf", Format::kText), R"("\xe0\x80\xaf")");  // overlong
    EXPECT_EQ(quote("\xf0\x80\x80\x80", Format::kText), R"("\xf0\x80\x80\x80")");
    EXPECT_EQ(quote("\xed\xa0\x80", Format::kText), R"("\xed\xa0\x80")");  // surrogate
    EXPECT_EQ(quote("\xf4\x90\x80\x80", Format::kText), R"("\xf4\x90\x80\x80")");
    EXPECT_EQ(quote("\xff\xfe", Format::kText), R"("\xff\xfe")");
    EXPECT_EQ(through_json("a\xff"), "a\\xff");
}

TEST(Quote, c1_controls_do_not_reach_the_terminal) {
    EXPECT_EQ(quote("\xc2\x9b", Format::kText), R"("\xc2\x9b")");
    EXPECT_EQ(quote("\xc2\x9b", Format::kJson), R"("\u009b")");
    EXPECT_EQ(through_json("\xc2\x9b"), "\xc2\x9b");
}

TEST(Quote, printable_text_has_no_control_characters_but_lines_and_tabs) {
    EXPECT_EQ(printable("a \"b\" \\\n\tc\u00e4"), "a \"b\" \\\n\tc\u00e4");
    EXPECT_EQ(printable("\x1b[31m\xc2\x9b\x7f\xff\r"), R"(\x1b[31m\xc2\x9b\x7f\xff\x0d)");
}

TEST(Quote, printable_name_stays_in_its_line_and_column) {
    EXPECT_EQ(printable_name("a \"b\" \\\n\tc\u00e4"), "a \"b\" \\\\x0a\\x09c\u00e4");
    EXPECT_EQ(printable_name("\x1b[31m\xc2\x9b\x7f\xff\r"), R"(\x1b[31m\xc2\x9b\x7f\xff\x0d)");
    EXPECT_EQ(printable_name(std::string_view("\0", 1)), R"(\x00)");
    EXPECT_EQ(printable_name(""), "");
}

TEST(Quote, json_parses_whatever_the_bytes) {
    std::uint32_t state = 1;
    for (int round = 0; round < 2000; ++round) {
        std::string bytes;
        for (int i = 0; i < 12; ++i) {
            state = state * 1664525 + 1013904223;
            bytes += static_cast<char>(state >> 24);
        }
        EXPECT_NO_THROW(through_json(bytes));
    }
}

}  // namespace
}  // namespace djprobe::loader
