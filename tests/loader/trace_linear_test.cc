// SPDX-License-Identifier: GPL-2.0
#include <gmock/gmock.h>

#include "expect_error.h"
#include "trace/linear.h"

namespace djprobe::loader {
namespace {

std::string refused_steps(std::string text) {
    return expect_error(ExitCode::kUsage, [&] { take_linear(text); });
}

TEST(TraceLinear, is_taken_from_the_end_of_an_expression) {
    std::string text = "a ? b : count :linear( -8, 24 , 4)";
    const auto linear = take_linear(text);
    EXPECT_EQ(text, "a ? b : count ");
    ASSERT_TRUE(linear);
    EXPECT_EQ(linear->str(), "linear(-8,24,4)");
    EXPECT_EQ(linear->step(), 8U);
    EXPECT_EQ(linear->least(3), 16);
    EXPECT_EQ(linear->most(3), 23);
    std::string other = "a ? b : c";
    EXPECT_FALSE(take_linear(other));
    EXPECT_EQ(other, "a ? b : c");
}

TEST(TraceLinear, has_a_shorter_last_step_where_they_do_not_fit) {
    std::string text = "n:linear(0,10,3)";
    const auto linear = take_linear(text);
    EXPECT_EQ(linear->step(), 4U);
    EXPECT_EQ(linear->most(2), 9);
    text = "n:linear(0,3,64)";
    EXPECT_EQ(take_linear(text)->slots, 3U) << "no step is empty for good";
}

TEST(TraceLinear, is_marked_where_it_is_wrong) {
    using testing::StartsWith;
    EXPECT_EQ(refused_steps("n:linear(0,4)"),
              "write it as :linear(FROM,TO,STEPS), with whole numbers: :linear(0,4096,16)\n"
              "  n:linear(0,4)\n"
              "    ^^^^^^^^^^^");
    EXPECT_THAT(refused_steps("n:linear"), StartsWith("write it as"));
    EXPECT_THAT(refused_steps("n:linear(0,1,2,3)"), StartsWith("write it as"));
    EXPECT_THAT(refused_steps("n:linear(0,0x10,2)"), StartsWith("write it as"));
    EXPECT_THAT(refused_steps("n:linear(0,9223372036854775807,2)"), StartsWith("write it as"));
    EXPECT_THAT(refused_steps("n:linear(4,4,2)"), StartsWith("its first number must be below"));
    EXPECT_THAT(refused_steps("n:linear(0,99,65)"), StartsWith("it has 1 to 64 steps"));
}

}  // namespace
}  // namespace djprobe::loader
