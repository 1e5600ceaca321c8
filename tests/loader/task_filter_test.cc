// SPDX-License-Identifier: GPL-2.0
#include "kernel/task_filter.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <future>
#include <thread>

#include "expect_error.h"
#include "kernel/own_number.h"

namespace djprobe::loader {
namespace {

/// The first thread of this process, and another one of it while `look` looks.
template <class Look>
void beside_thread(const Look& look) {
    std::promise<pid_t> number;
    std::promise<void> done;
    std::thread thread([&] {
        number.set_value(static_cast<pid_t>(syscall(SYS_gettid)));
        done.get_future().wait();
    });
    look(static_cast<std::uint32_t>(number.get_future().get()));
    done.set_value();
    thread.join();
}

void expect_equals(const djprobe_action& action, djprobe_task_field field, int width,
                   std::uint64_t value) {
    EXPECT_EQ(action.operation, DJPROBE_ACTION_IF_EQ);
    EXPECT_EQ(action.reg, field);
    EXPECT_EQ(action.width, width);
    EXPECT_EQ(action.flags, DJPROBE_ACTION_TASK);
    EXPECT_EQ(action.offset, 0U);
    EXPECT_EQ(action.value, value);
}

TEST(TaskFilter, a_name_that_looks_like_a_line_of_its_status_is_a_name) {
    std::thread named([] {
        prctl(PR_SET_NAME, "Tgid: 1");
        EXPECT_NO_THROW(check_thread(static_cast<std::uint32_t>(syscall(SYS_gettid))));
    });
    named.join();
    char before[16] = {};
    prctl(PR_GET_NAME, before);
    prctl(PR_SET_NAME, "Tgid: 1");
    EXPECT_NO_THROW(check_process(static_cast<std::uint32_t>(getpid())));
    prctl(PR_SET_NAME, before);
}

TEST(TaskFilter, without_a_filter_there_is_no_condition) {
    EXPECT_TRUE(task_conditions({}).empty());
}

TEST(TaskFilter, a_name_is_one_comparison_for_each_half_that_it_reaches) {
    const auto short_name = task_conditions({{}, {}, "dd"});
    ASSERT_EQ(short_name.size(), 1U);
    expect_equals(short_name[0], DJPROBE_TASK_COMM, 8, 0x6464);
    // The NUL of this one is in the second half.
    const auto eight = task_conditions({{}, {}, "abcdefgh"});
    ASSERT_EQ(eight.size(), 2U);
    expect_equals(eight[0], DJPROBE_TASK_COMM, 8, 0x6867'6665'6463'6261);
    expect_equals(eight[1], DJPROBE_TASK_COMM_8, 8, 0);
    const auto longest = task_conditions({{}, {}, "abcdefgh1234567"});
    ASSERT_EQ(longest.size(), 2U);
    expect_equals(longest[1], DJPROBE_TASK_COMM_8, 8, 0x0037'3635'3433'3231);
    EXPECT_EQ(expect_error(ExitCode::kUsage,
                           [] {
                               task_conditions({{}, {}, "abcdefgh12345678"});
                           }),
              "--comm: the kernel keeps 15 letters of a name: 'abcdefgh1234567'");
}

TEST(TaskFilter, tells_that_a_name_is_no_pattern) {
    const auto told = [](const std::string& name) {
        testing::internal::CaptureStderr();
        check_name(name);
        return testing::internal::GetCapturedStderr();
    };
    EXPECT_EQ(told("ksoftirqd/0"), "");
    EXPECT_EQ(told("h*"), "probeload: --comm h*: a name is compared as it is, and is no pattern\n");
}

TEST(TaskFilter, takes_the_numbers_of_tasks_that_there_are) {
    if (!own_number()) {
        EXPECT_NE(expect_error(ExitCode::kUsage,
                               [] {
                                   task_conditions({1, {}, {}});
                               })
                      .find("a PID namespace of its own"),
                  std::string::npos);
        return;
    }
    const auto self = static_cast<std::uint32_t>(getpid());
    beside_thread([&](std::uint32_t thread) {
        const auto both = task_conditions({self, thread, {}});
        ASSERT_EQ(both.size(), 2U);
        expect_equals(both[0], DJPROBE_TASK_TGID, 4, self);
        expect_equals(both[1], DJPROBE_TASK_PID, 4, thread);
        EXPECT_EQ(expect_error(ExitCode::kUsage,
                               [&] {
                                   task_conditions({thread, {}, {}});
                               }),
                  "--pid " + std::to_string(thread) + ": that is a thread of process " +
                      std::to_string(self) + ": use --tid " + std::to_string(thread));
    });
    EXPECT_EQ(expect_error(ExitCode::kUsage,
                           [] {
                               task_conditions({{}, 4'194'305, {}});
                           }),
              "--tid 4194305: there is no such task");
}

TEST(TaskFilter, has_no_more_conditions_than_it_says) {
    EXPECT_LE(task_conditions({{}, {}, "abcdefgh"}).size() + 2, kMostTaskConditions);
}

}  // namespace
}  // namespace djprobe::loader
