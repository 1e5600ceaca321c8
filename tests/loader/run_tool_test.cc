// SPDX-License-Identifier: GPL-2.0
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <string>
#include <system_error>

#include "run/tool.h"

namespace djprobe::loader {
namespace {

TEST(RunTool, name_that_cannot_be_run_stays_in_its_line) {
    try {
        Tool::start({"no such\ntool"}, Filter::kNone);
        FAIL() << "it runs";
    } catch (const std::system_error& error) {
        EXPECT_EQ(std::string(error.what()), "no such\\x0atool: No such file or directory");
    }
}

TEST(RunTool, probeload_ends_as_the_tool_has) {
    const auto end_blocked = [](int number) {
        sigset_t all;
        sigfillset(&all);
        sigprocmask(SIG_SETMASK, &all, nullptr);
        end_as(W_EXITCODE(0, number));
    };
    EXPECT_EXIT(end_blocked(SIGTERM), testing::KilledBySignal(SIGTERM), "");
    EXPECT_EXIT(end_blocked(SIGKILL), testing::KilledBySignal(SIGKILL), "");
    EXPECT_EQ(end_as(W_EXITCODE(3, 0)), 3);
}

}  // namespace
}  // namespace djprobe::loader
