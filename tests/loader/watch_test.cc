// SPDX-License-Identifier: GPL-2.0
// What ends the watch over counters, and what shows them meanwhile.
#include "count/watch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "base/exit_code.h"
#include "session/command.h"

namespace djprobe::loader {
namespace {

/// Only time ends it.
struct Watched {
    Watched() { options.seconds = 10; }
    std::optional<int> run(const std::function<void(double)>& show) {
        return Watch(options, output).run(stop, wish, child, show);
    }

    StopSignals stop;
    SnapshotSignal wish;
    Output output{STDERR_FILENO};
    std::optional<Child> child;
    WatchOptions options;
};

TEST(Watch, a_signal_shows_once_what_is_counted_so_far) {
    Watched watched;
    raise(SIGUSR1);
    int shown = 0;
    watched.options.command = "kill -USR1 $PPID; sleep 0.3";
    watched.run([&](double) { ++shown; });
    EXPECT_GE(shown, 1);
    EXPECT_LE(shown, 2);
    EXPECT_FALSE(watched.stop.requested()) << "it goes on until the command ends";
}

TEST(Watch, without_a_signal_and_an_interval_nothing_is_shown) {
    Watched watched;
    watched.options.command = "sleep 0.3";
    int shown = 0;
    const std::optional<int> status = watched.run([&](double) { ++shown; });
    EXPECT_EQ(shown, 0);
    EXPECT_EQ(status, 0);
}

TEST(Watch, hands_on_numbers_at_once_and_each_second) {
    Watched watched;
    watched.options.command = "sleep 1.3";
    Watch watch(watched.options, watched.output);
    int taken = 0;
    watch.tell([&](const Summary&) { ++taken; }, [] { return Summary(); });
    watch.run(watched.stop, watched.wish, watched.child, [](double) {});
    EXPECT_EQ(taken, 2);
}

TEST(Command, its_status_is_ours_where_that_is_wished) {
    const auto exited = [](int status) { return std::optional(status << 8); };
    EXPECT_EQ(command_exit_status(exited(3), false), 0);
    EXPECT_EQ(command_exit_status(exited(3), true), 3);
    EXPECT_EQ(command_exit_status(SIGKILL, true), 128 + SIGKILL);
    EXPECT_EQ(command_exit_status(std::nullopt, true), 0);
    EXPECT_EQ(command_exit_status(exited(127), false), static_cast<int>(ExitCode::kCommandFailed));
    EXPECT_EQ(command_text(3 << 8), "command: ended with status 3");
}

}  // namespace
}  // namespace djprobe::loader
