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

Front in_front(const Question& question) {
    Prototypes prototypes(DJPROBE_KERNEL);
    return choose_front(question, prototypes);
}

Question events(const char* place, const char* condition = nullptr) {
    Question question = asked(place, {}, condition);
    question.aggregation.reset();
    return question;
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

TEST(TraceActions, stand_in_front_of_a_program_where_conditions_can_say_it) {
    Question question = events("vfs_read", "count > 4096 && edx != 7");
    question.filters.pid = 7;
    question.filters.comm = "dd";
    question.filters.cpu = 1;
    const Front front = in_front(question);
    ASSERT_EQ(front.conditions.size(), 4U);
    EXPECT_EQ(front.conditions[0].reg, DJPROBE_TASK_TGID);
    EXPECT_EQ(front.conditions[0].value, 7U);
    EXPECT_EQ(front.conditions[1].reg, DJPROBE_TASK_COMM);
    EXPECT_EQ(front.conditions[2].operation, DJPROBE_ACTION_IF_GT);
    EXPECT_EQ(front.conditions[3].width, 4);
    EXPECT_EQ(front.words, "--pid, --comm, --if 'count > 4096 && edx != 7'");
}

TEST(TraceActions, leave_to_the_program_what_only_c_can_say) {
    for (const char* condition : {"count > 1 || count == 0", "count > -1", "file->f_pos == 1",
                                  "comm == \"dd\"", "count & 1", "count + 1 > 2"}) {
        const Front front = in_front(events("vfs_read", condition));
        EXPECT_TRUE(front.conditions.empty()) << condition;
        EXPECT_EQ(front.words, "");
    }
    for (const char* condition : {"count == 010", "count == 4096 && edx != 00"})
        EXPECT_TRUE(in_front(events("vfs_read", condition)).conditions.empty()) << condition;
    EXPECT_EQ(in_front(events("vfs_read", "count > 100 && edx != 0x10 && count != 0")).words,
              "--if 'count > 100 && edx != 0x10 && count != 0'");
    Question at_return = events("vfs_read:return", "rax > 1");
    at_return.filters.pid = 7;
    EXPECT_TRUE(in_front(at_return).conditions.empty());
}

// Arguments hide registers in C. One of these has an `arg2`, in the register of another one.
TEST(TraceActions, leave_to_the_program_what_an_argument_and_a_register_are_called) {
    const char* const place = "__do_sys_prctl";
    EXPECT_TRUE(in_front(events(place, "arg2 == 1")).conditions.empty());
    EXPECT_TRUE(in_front(events(place, "rdx == 1")).conditions.empty());
    EXPECT_THAT(choose(asked(place, {Kind::kHistogram, "arg2", ""})).why_not,
                HasSubstr("`arg2` is an argument and a register"));
    EXPECT_EQ(in_front(events("vfs_read", "rdx == 1")).conditions.size(), 1U);
}

TEST(TraceActions, are_explained) {
    const Question question = asked("vfs_read", {Kind::kHistogram, "count", ""}, "count > 4096");
    EXPECT_EQ(explain_choice(question, choose(question), in_front(question)),
              "vfs_read, --hist 'count': in the detour itself, by 2 actions: no program runs; what "
              "probeload itself calls counts, too\n");
    const Question by_comm = asked("vfs_read", {Kind::kCount, "", "comm"});
    EXPECT_EQ(explain_choice(by_comm, choose(by_comm), in_front(by_comm)),
              "vfs_read, --count-by 'comm': by a BPF program: results for each `comm` need a "
              "program: a detour tells only functions apart (func)\n");
    const Question filtered = events("vfs_read", "count > 4096");
    EXPECT_EQ(
        explain_choice(filtered, choose(filtered), in_front(filtered)),
        "vfs_read, events: by a BPF program: each hit sends an event\n"
        "in front of it, in the detour itself: --if 'count > 4096': of other hits the program "
        "does not run\n");
}

}  // namespace
}  // namespace djprobe::loader
