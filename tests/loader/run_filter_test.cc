// SPDX-License-Identifier: GPL-2.0
// The filter on this machine's kernel, around a child that makes the calls.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "expect_error.h"
#include "run/filter.h"
#include "run/notifications.h"
#include "run/run_session.h"
#include "run/tool.h"
#include "temp_file.h"

namespace djprobe::loader {
namespace {

/// What came of calls in a filtered child: how many were handed over, and the child's exit status.
struct Outcome {
    int handed_over = 0;
    int status = -1;
};

/// The child runs `calls` behind the filter and exits with their value; each call that is handed
/// over gets answer().
Outcome under_filter(const std::function<int()>& calls,
                     const std::function<void(const Notification&)>& answer) {
    int ends[2];
    if (pipe(ends) != 0) return {};
    const pid_t child = fork();
    if (child == 0) {
        const UniqueFd listener = install_tool_filter();
        const int number = listener ? listener.get() : -1;
        if (write(ends[1], &number, sizeof number) < 0 || number < 0) _exit(99);
        _exit(calls());
    }
    int number = -1;
    EXPECT_EQ(read(ends[0], &number, sizeof number), static_cast<ssize_t>(sizeof number));
    const UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
    const UniqueFd listener(static_cast<int>(syscall(SYS_pidfd_getfd, process.get(), number, 0)));
    Outcome outcome;
    pollfd ready[] = {{listener.get(), POLLIN, 0}, {process.get(), POLLIN, 0}};
    while (poll(ready, 2, 10'000) > 0 && !ready[1].revents) {
        const auto call = receive(listener);
        if (!call) continue;
        ++outcome.handed_over;
        answer(*call);
    }
    int status = 0;
    waitpid(child, &status, 0);
    outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    close(ends[0]);
    close(ends[1]);
    return outcome;
}

void go_on(const Notification& call) {
    call.answer(Answer::go_on());
}

TEST(RunFilter, hands_over_the_calls_that_place_probes_and_lets_them_go_on) {
    const Outcome outcome = under_filter(
        [] {
            perf_event_attr attr = {};
            attr.size = sizeof attr;
            attr.type = 0xffff;  // of no PMU
            const bool same = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0) < 0 &&
                              errno != EPERM && errno != ENOSYS;
            const bool no_link = syscall(SYS_bpf, BPF_LINK_CREATE, nullptr, 0) < 0;
            const bool no_event = ioctl(0, PERF_EVENT_IOC_SET_BPF, 0) < 0;
            return same && no_link && no_event ? 0 : 1;
        },
        go_on);
    EXPECT_EQ(outcome.status, 0);
    EXPECT_EQ(outcome.handed_over, 3);
}

TEST(RunFilter, lets_all_else_pass_by) {
    const Outcome outcome = under_filter(
        [] {
            syscall(SYS_bpf, BPF_MAP_CREATE, nullptr, 0);
            syscall(SYS_bpf, BPF_PROG_LOAD, nullptr, 0);
            ioctl(0, PERF_EVENT_IOC_ENABLE, 0);
            ioctl(0, FIONREAD, nullptr);
            return getpid() > 0 ? 0 : 1;
        },
        go_on);
    EXPECT_EQ(outcome.status, 0);
    EXPECT_EQ(outcome.handed_over, 0);
}

TEST(RunFilter, an_answer_is_the_calls_result) {
    const auto call = [] {
        const long result = syscall(SYS_perf_event_open, nullptr, 0, 0, 0, 0);
        return static_cast<int>(result < 0 ? errno : result);
    };
    EXPECT_EQ(
        under_filter(call, [](const Notification& asked) { asked.answer(Answer::fail(EXDEV)); })
            .status,
        EXDEV);
    EXPECT_EQ(
        under_filter(call, [](const Notification& asked) { asked.answer(Answer::succeed(41)); })
            .status,
        41);
}

TEST(RunFilter, a_descriptor_that_is_given_is_the_tools_alone) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    UniqueFd reading(ends[0]);
    UniqueFd writing(ends[1]);
    const Outcome outcome = under_filter(
        [&] {
            // Of the writing ends only the given one is left.
            close(writing.get());
            const auto given = static_cast<int>(syscall(SYS_perf_event_open, 0, 0, 0, 0, 0));
            const bool closes = (fcntl(given, F_GETFD) & FD_CLOEXEC) != 0;
            close(given);
            char byte = 0;
            return closes && read(reading.get(), &byte, 1) == 0 ? 0 : 1;
        },
        [&](const Notification& call) { call.answer(Answer::give(std::move(writing), true)); });
    EXPECT_EQ(outcome.status, 0);
}

TEST(RunFilter, a_descriptor_can_be_replaced) {
    const Outcome outcome = under_filter(
        [] {
            const int zero = open("/dev/zero", O_RDONLY);
            syscall(SYS_perf_event_open, static_cast<long>(zero), 0, 0, 0, 0);
            char byte = 0;
            return read(zero, &byte, 1) == 0 ? 0 : 1;  // it is /dev/null now
        },
        [](const Notification& call) {
            const UniqueFd null(open("/dev/null", O_RDONLY));
            EXPECT_TRUE(call.replace(static_cast<int>(call.argument(0)), null, false));
            call.answer(Answer::succeed(0));
        });
    EXPECT_EQ(outcome.status, 0);
}

TEST(RunTool, that_is_not_there_is_an_error_with_its_name) {
    EXPECT_EQ(expect_error(ExitCode::kCommandFailed, [] { run_tool({.tool = {"/no/such/tool"}}); }),
              "/no/such/tool: No such file or directory");
}

TEST(RunTool, whose_interpreter_is_missing_is_an_error_that_names_both) {
    const Files files;
    const std::filesystem::path script = files.write("tool", "#! /no/such/shell -e\n");
    std::filesystem::permissions(script, std::filesystem::perms::owner_all);
    const std::string old = getenv("PATH");
    setenv("PATH", ("/nowhere:" + files.path().string()).c_str(), 1);
    for (const std::string& tool : {script.string(), std::string("tool")})
        EXPECT_EQ(expect_error(ExitCode::kCommandFailed, [&] { run_tool({.tool = {tool}}); }),
                  tool + ": its first line names /no/such/shell, which does not exist");
    setenv("PATH", old.c_str(), 1);
}

TEST(RunTool, that_needs_a_filter_does_not_run_without_one) {
    const Outcome outcome = under_filter(
        [] {
            const std::vector<std::string> tool = {"sh", "-c", "exit 7"};
            Tool wanted = Tool::start(tool, Filter::kWanted);
            if (wanted.listener() || WEXITSTATUS(wanted.wait()) != 7) return 1;
            try {
                Tool::start(tool, Filter::kRequired);
                return 2;
            } catch (const Error& error) {
                return std::string_view(error.what()).find("sh is not run: ") !=
                               std::string_view::npos
                           ? 0
                           : 3;
            }
        },
        go_on);
    EXPECT_EQ(outcome.status, 0);
}

TEST(RunTool, has_its_exit_status_or_its_signals) {
    EXPECT_EQ(run_tool({.tool = {"sh", "-c", "exit 7"}}), 7);
    EXPECT_EXIT(run_tool({.tool = {"sh", "-c", "kill -TERM $$"}}), testing::KilledBySignal(SIGTERM),
                "");
}

}  // namespace
}  // namespace djprobe::loader
