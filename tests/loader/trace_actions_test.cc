// SPDX-License-Identifier: GPL-2.0
// What a trace leaves to the detour, and what it does not.
#include <gmock/gmock.h>

#include "trace/actions.h"

namespace djprobe::loader {
namespace {

using Kind = Aggregation::Kind;
using testing::HasSubstr;

Question asked(const char* place, Aggregation aggregation, const char* condition = nullptr) {
    Question question;
    parse_place(place, question);
    question.aggregation = std::move(aggregation);
    if (condition) question.condition = condition;
    return question;
}

ActionChoice choose(const Question& question) {
    Prototypes prototypes(DJPROBE_KERNEL);
    return choose_actions(question, prototypes);
}

std::vector<int> operations(const Question& question) {
    const ActionChoice choice = choose(question);
    EXPECT_TRUE(choice.actions) << choice.why_not;
    std::vector<int> list;
    for (const djprobe_action& action : choice.actions.value_or(std::vector<djprobe_action>()))
        list.push_back(action.operation);
    return list;
}

TEST(TraceActions, count_calls_by_function) {
    EXPECT_TRUE(operations(asked("vfs_*", {Kind::kCount, "", "func"})).empty());
    EXPECT_EQ(operations(asked("vfs_read", {Kind::kCount, "", "func"}, "count > 4096 && rdi != 3")),
              (std::vector<int>{DJPROBE_ACTION_IF_GT, DJPROBE_ACTION_IF_NE, DJPROBE_ACTION_COUNT}));
}

TEST(TraceActions, keep_sums_and_histograms_of_what_is_in_a_register) {
    EXPECT_EQ(operations(asked("vfs_read", {Kind::kHistogram, "count", ""}, "count > 4096")),
              (std::vector<int>{DJPROBE_ACTION_IF_GT, DJPROBE_ACTION_LOG2}));
    EXPECT_EQ(operations(asked("vfs_read+0x2b", {Kind::kHistogram, "eax", "func"})),
              (std::vector<int>{DJPROBE_ACTION_LOG2}));
    const ActionChoice sum = choose(asked("vfs_read", {Kind::kAverage, "count", ""}));
    ASSERT_TRUE(sum.actions);
    ASSERT_EQ(sum.actions->size(), 2U);
    EXPECT_EQ((*sum.actions)[1].operation, DJPROBE_ACTION_ADD);
    EXPECT_EQ((*sum.actions)[1].offset, 8U);
}

std::string why(const Question& question) {
    const ActionChoice choice = choose(question);
    EXPECT_FALSE(choice.actions);
    return choice.why_not;
}

TEST(TraceActions, leave_the_rest_to_a_program_and_say_why) {
    const Aggregation hist{Kind::kHistogram, "count", ""};
    Question question = asked("vfs_read", hist);
    question.aggregation.reset();
    EXPECT_EQ(why(question), "each hit sends an event");
    EXPECT_THAT(why(asked("vfs_read:return", hist)), HasSubstr("at a return"));
    EXPECT_THAT(why(asked("fs/read_write.c:470", hist)), HasSubstr("at a line"));
    question = asked("vfs_read", hist);
    question.filters.comm = "dd";
    EXPECT_THAT(why(question), HasSubstr("a filter of tasks"));
    question = asked("vfs_read", hist);
    question.kernel_stack = true;
    EXPECT_THAT(why(question), HasSubstr("stacks"));
    EXPECT_THAT(why(asked("vfs_read", {Kind::kCount, "", "comm"})), HasSubstr("each `comm`"));
    EXPECT_THAT(why(asked("vfs_read", {Kind::kMost, "count", ""})), HasSubstr("largest"));
    EXPECT_THAT(why(asked("vfs_read", {Kind::kHistogram, "count", "", Linear{0, 8, 2}})),
                HasSubstr("powers of two"));
    EXPECT_THAT(why(asked("vfs_read", {Kind::kHistogram, "file->f_pos", ""})),
                HasSubstr("a detour knows registers and numbers only"));
    EXPECT_THAT(why(asked("vfs_read", hist, "count > 1 || count == 0")),
                HasSubstr("a detour knows registers and numbers only"));
    EXPECT_THAT(why(asked("vfs_read", hist, "count != -1")), HasSubstr("a negative number"));
    EXPECT_THAT(why(asked("vfs_*", {Kind::kSum, "rdi", "func"})), HasSubstr("counts only"));
}

TEST(TraceActions, are_explained) {
    const Question question = asked("vfs_read", {Kind::kHistogram, "count", ""}, "count > 4096");
    EXPECT_EQ(explain_choice(question, choose(question)),
              "vfs_read, --hist 'count': in the detour itself, by 2 actions: no program runs; what "
              "probeload itself calls counts, too\n");
    const Question by_comm = asked("vfs_read", {Kind::kCount, "", "comm"});
    EXPECT_EQ(explain_choice(by_comm, choose(by_comm)),
              "vfs_read, --count-by 'comm': by a BPF program: results for each `comm` need a "
              "program: a detour tells only functions apart (func)\n");
}

}  // namespace
}  // namespace djprobe::loader
