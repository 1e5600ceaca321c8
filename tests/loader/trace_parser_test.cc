// SPDX-License-Identifier: GPL-2.0
#include <gmock/gmock.h>

#include <random>

#include "expect_error.h"
#include "trace/expression.h"
#include "trace/number.h"

namespace djprobe::loader {
namespace {

bool is_typedef(std::string_view word) {
    return word == "u32" || word == "size_t";
}

std::string parsed(std::string_view text) {
    return to_text(parse_expression(text, is_typedef));
}

std::string refused(std::string_view text) {
    return expect_error(ExitCode::kUsage, [&] { parse_items(text, is_typedef); });
}

TEST(TraceParser, binds_as_c_does) {
    EXPECT_EQ(parsed("a + b * c"), "(a + (b * c))");
    EXPECT_EQ(parsed("a - b - c"), "((a - b) - c)");
    EXPECT_EQ(parsed("a & b == c"), "(a & (b == c))");
    EXPECT_EQ(parsed("a || b && c"), "(a || (b && c))");
    EXPECT_EQ(parsed("a << 1 < b"), "((a << 1) < b)");
    EXPECT_EQ(parsed("a ? b : c ? d : e"), "(a ? b : (c ? d : e))");
    EXPECT_EQ(parsed("-a.b[1]->c"), "(-a.b[1]->c)");
    EXPECT_EQ(parsed("*p[i + 1]"), "(*p[(i + 1)])");
    EXPECT_EQ(parsed("!~-+*&a"), "(!(~(-(+(*(&a))))))");
}

TEST(TraceParser, knows_casts_from_parentheses) {
    EXPECT_EQ(parsed("(u32)a + 1"), "(((u32)a) + 1)");
    EXPECT_EQ(parsed("(a) + 1"), "(a + 1)");
    EXPECT_EQ(parsed("(struct file *)a->b"), "((struct file *)a->b)");
    EXPECT_EQ(parsed("((const struct file **)a)[0]->b"), "((struct file **)a)[0]->b");
    EXPECT_EQ(parsed("(unsigned long)'a'"), "((unsigned long)'a')");
}

TEST(TraceParser, takes_items_and_their_forms) {
    const std::vector<Item> items = parse_items("file->name:str 16, a ? b : c:x, d", is_typedef);
    ASSERT_EQ(items.size(), 3U);
    EXPECT_EQ(items[0].form->name, "str");
    EXPECT_EQ(items[0].form->length, 16U);
    EXPECT_EQ(items[1].form->name, "x");
    EXPECT_EQ(to_text(items[1].expression), "(a ? b : c)");
    EXPECT_FALSE(items[2].form);
}

TEST(TraceParser, puts_the_caret_under_what_is_wrong) {
    EXPECT_EQ(refused("count >"), "a value is missing here\n  count >\n         ^");
    EXPECT_EQ(refused("a->"), "a member's name is missing here\n  a->\n     ^");
    EXPECT_EQ(refused("f(a)"), "a trace calls no function\n  f(a)\n   ^");
    EXPECT_EQ(refused("a = b"), "a trace changes nothing: compare with ==\n  a = b\n    ^");
    EXPECT_EQ(refused("(a"), "')' is missing here, for the '(' before it\n  (a\n    ^");
    EXPECT_EQ(refused("a b"), "a comma or the end must stand here, not 'b'\n  a b\n    ^");
    EXPECT_EQ(refused("u32 * a"), "'u32' is a type, and no value\n  u32 * a\n  ^^^");
    EXPECT_EQ(refused("(const a)b"),
              "the name of a type must stand here\n  (const a)b\n         ^");
    EXPECT_EQ(refused("(const)a"), "the name of a type must stand here\n  (const)a\n        ^");
    EXPECT_EQ(
        refused("(sock *)a"),
        "the kernel has no type 'sock': one of a struct is 'struct sock'\n  (sock *)a\n   ^^^^");
    EXPECT_THAT(refused("((sock **)a)->b"), testing::HasSubstr("no type 'sock'"));
    EXPECT_THAT(refused("(u8)a"), testing::HasSubstr("no type 'u8'"));
    EXPECT_THAT(refused("(u8)1"), testing::HasSubstr("no type 'u8'"));
    EXPECT_THAT(refused("(a *"), testing::HasSubstr("a value is missing here"));
    EXPECT_THAT(refused("(a * b"), testing::HasSubstr("')' is missing here"));
    EXPECT_EQ(refused("1.5"), "numbers are whole: no digits stand behind a point\n  1.5\n    ^");
    EXPECT_EQ(refused("a++"), "a trace changes nothing: there is no ++\n  a++\n   ^^");
    EXPECT_EQ(refused("a-- > 3"), "a trace changes nothing: there is no --\n  a-- > 3\n   ^^");
    EXPECT_EQ(refused("a:"), "a form is a word: str, ustr, x, ip, hex, sym, kstack\n  a:\n    ^");
    EXPECT_EQ(refused("a:hex 0"), "a length is a number from 1 to 65535\n  a:hex 0\n        ^");
    EXPECT_EQ(refused("a\t@"), "no expression of C has this letter\n  a @\n    ^");
    EXPECT_THAT(refused(std::string(1000, '(')), testing::HasSubstr("nests too deep"));
    std::string sum = "a";
    for (int i = 0; i < 1000; ++i)
        sum += "+a";
    EXPECT_THAT(refused(sum), testing::HasSubstr("nests too deep"));
}

// Any expression, by the grammar.
class Random {
  public:
    explicit Random(unsigned seed) : random_(seed) {}

    std::string expression(int depth) {
        if (depth == 0) return pick({"a", "b", "17", "0xffUL", "'x'"});
        const auto inner = [&] { return expression(depth - 1); };
        switch (random_() % 8) {
            case 0:
                return "(" + inner() + ")->m";
            case 1:
                return "(" + inner() + ").n[" + inner() + "]";
            case 2:
                return pick({"-", "!", "~", "*", "&"}) + " " + inner();
            case 3:
                return pick({"(u32)", "(struct s *)", "(unsigned int)"}) + inner();
            case 4:
                return "(" + inner() + ") ? " + inner() + " : " + inner();
            default:
                return inner() +
                       pick({"+", "*", "/", "<<", "<", "==", "&", "|", "^", "&&", "||", "-"}) +
                       inner();
        }
    }

  private:
    std::string pick(const std::vector<std::string>& of) { return of[random_() % of.size()]; }

    std::mt19937 random_;
};

TEST(TraceParser, reads_its_own_text_as_the_same) {
    Random random(24);
    for (int i = 0; i < 2000; ++i) {
        const std::string text = random.expression(1 + i % 4);
        const std::string once = parsed(text);
        EXPECT_EQ(parsed(once), once) << text;
    }
}

TEST(TraceNumber, has_the_type_that_c_gives_it) {
    const auto is = [](std::string_view text, std::uint64_t value, bool is_wide, bool is_signed) {
        const auto number = parse_number(text);
        ASSERT_TRUE(number) << text;
        EXPECT_EQ(number->value, value) << text;
        EXPECT_EQ(number->is_wide, is_wide) << text;
        EXPECT_EQ(number->is_signed, is_signed) << text;
    };
    is("2147483647", 2147483647, false, true);
    is("2147483648", 2147483648, true, true);
    is("0x80000000", 2147483648, false, false);
    is("052", 42, false, true);
    is("0b101", 5, false, true);
    is("1ul", 1, true, false);
    is("0xffffffffffffffff", ~0ULL, true, false);
    for (const char* const wrong :
         {"0x", "12a", "08", "18446744073709551616", "1uu", "1lll", "18446744073709551615"})
        EXPECT_FALSE(parse_number(wrong)) << wrong;
}

}  // namespace
}  // namespace djprobe::loader
