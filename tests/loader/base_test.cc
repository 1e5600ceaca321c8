// SPDX-License-Identifier: GPL-2.0
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#include "base/child.h"
#include "base/memory_limit.h"
#include "base/output.h"
#include "base/say.h"
#include "base/snapshot_signal.h"
#include "base/stop_signals.h"
#include "base/temp_dir.h"
#include "expect_error.h"
#include "temp_file.h"

namespace djprobe::loader {
namespace {

using namespace std::string_view_literals;

struct Pipe {
    Pipe() {
        std::array<int, 2> fds{};
        EXPECT_EQ(pipe2(fds.data(), O_CLOEXEC), 0);
        reader = UniqueFd(fds[0]);
        writer = UniqueFd(fds[1]);
    }
    UniqueFd reader;
    UniqueFd writer;
};

TEST(Output, writes_what_was_appended) {
    const Pipe pipe;
    Output output(pipe.writer.get());
    output.buffer().append("one\n"sv);
    output.flush_if_full();
    EXPECT_EQ(output.buffer().size(), 4U);
    output.flush();
    EXPECT_EQ(output.buffer().size(), 0U);
    char text[8] = {};
    EXPECT_EQ(read(pipe.reader.get(), text, sizeof text), 4);
    EXPECT_STREQ(text, "one\n");
}

TEST(Output, prints_at_once_behind_what_was_appended) {
    const Pipe pipe;
    Output output(pipe.writer.get());
    output.buffer().append("one\n"sv);
    output.print("two\n");
    char text[16] = {};
    EXPECT_EQ(read(pipe.reader.get(), text, sizeof text), 8);
    EXPECT_STREQ(text, "one\ntwo\n");
}

TEST(Output, a_full_pipe_that_does_not_block_is_waited_for) {
    const Pipe pipe;
    ASSERT_EQ(fcntl(pipe.writer.get(), F_SETFL, O_NONBLOCK), 0);
    const std::string text(1 << 20, 'x');
    std::thread reader([&] {
        std::string got(text.size(), '\0');
        for (std::size_t done = 0; done < got.size();) {
            const ssize_t size = read(pipe.reader.get(), got.data() + done, got.size() - done);
            if (size <= 0) break;
            done += static_cast<std::size_t>(size);
        }
        EXPECT_EQ(got, text);
    });
    Output output(pipe.writer.get());
    output.buffer().append(text);
    EXPECT_NO_THROW(output.flush());
    reader.join();
    EXPECT_FALSE(output.closed());
}

TEST(Say, a_stderr_that_takes_nothing_stops_no_work) {
    const UniqueFd before(dup(STDERR_FILENO));
    const UniqueFd full(open("/dev/full", O_WRONLY | O_CLOEXEC));
    ASSERT_TRUE(full);
    dup2(full.get(), STDERR_FILENO);
    EXPECT_NO_THROW(say("{}\n", "no room"));
    close(STDERR_FILENO);
    EXPECT_NO_THROW(say("{}\n", "no reader"));
    dup2(before.get(), STDERR_FILENO);
}

TEST(Say, what_is_kept_is_not_written) {
    testing::internal::CaptureStderr();
    {
        const KeptWords outer;
        say("{}\n", 1);
        {
            const KeptWords inner;
            say("{}\n", 2);
            EXPECT_EQ(inner.text(), "2\n");
        }
        // Another thread's words are its own.
        std::thread([] { say("{}\n", 3); }).join();
        EXPECT_EQ(outer.text(), "1\n");
    }
    say("{}\n", 4);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "3\n4\n");
}

TEST(Say, a_full_stderr_does_not_keep_what_is_to_end) {
    EXPECT_EXIT(
        {
            Pipe pipe;
            const StopSignals stop;
            dup2(pipe.writer.get(), STDERR_FILENO);
            const std::string page(4096, 'x');
            for (int i = 0; i < 15; ++i)
                say("{}", page);
            alarm(1);
            say("{}", page + page);  // the stop interrupts it
            say("{}", page);         // and is not needed again
            _exit(stop.requested() ? 5 : 6);
        },
        testing::ExitedWithCode(5), "");
}

TEST(Say, a_stderr_whose_reader_has_gone_does_not_end_the_process) {
    EXPECT_EXIT(
        {
            Pipe pipe;
            dup2(pipe.writer.get(), STDERR_FILENO);
            pipe.reader = UniqueFd();
            say("{}\n", "no reader");
            _exit(5);
        },
        testing::ExitedWithCode(5), "");
}

TEST(Output, closed_reader_is_an_end_and_no_error) {
    const StopSignals stop;  // ignores SIGPIPE
    Pipe pipe;
    pipe.reader = UniqueFd();
    Output output(pipe.writer.get());
    output.buffer().append("one\n"sv);
    EXPECT_NO_THROW(output.flush());
    EXPECT_TRUE(output.closed());
    output.buffer().append("two\n"sv);
    EXPECT_NO_THROW(output.flush());
    EXPECT_EQ(output.buffer().size(), 0U);
}

TEST(Output, full_disk_is_an_error) {
    const UniqueFd full(open("/dev/full", O_WRONLY | O_CLOEXEC));
    ASSERT_TRUE(full);
    Output output(full.get());
    output.buffer().append("one\n"sv);
    EXPECT_EQ(expect_error(ExitCode::kFailure, [&] { output.flush(); }),
              "stdout: No space left on device");
}

TEST(StopSignals, signal_sets_the_wish_and_wakes_a_poll) {
    const StopSignals stop;
    EXPECT_FALSE(stop.requested());
    raise(SIGTERM);
    EXPECT_TRUE(stop.requested());
    pollfd polled = {stop.fd(), POLLIN, 0};
    EXPECT_EQ(poll(&polled, 1, 0), 1);
}

TEST(StopSignals, the_end_of_a_time_is_a_wish_without_a_signal) {
    StopSignals stop;
    stop.request_after(0.001);
    pollfd polled = {stop.fd(), POLLIN, 0};
    while (poll(&polled, 1, 5'000) < 0) {
    }
    EXPECT_TRUE(stop.requested());
    EXPECT_FALSE(stop.sent());
    raise(SIGTERM);
    EXPECT_TRUE(stop.sent());
}

TEST(OutOfMemory, tells_which_limit_it_was) {
    EXPECT_EQ(out_of_memory(100 << 20, RLIM_INFINITY),
              "out of memory: this process may use 102400 KiB of address space (ulimit -v): raise "
              "that, or choose fewer functions");
    EXPECT_EQ(out_of_memory(100 << 20, 50 << 20),
              "out of memory: this process may use 51200 KiB of data (ulimit -d): raise that, or "
              "choose fewer functions");
    EXPECT_EQ(out_of_memory(RLIM_INFINITY, RLIM_INFINITY),
              "out of memory: the machine, or this process' control group, has no more: free some, "
              "or choose fewer functions");
}

TEST(AvailableMemory, is_what_the_kernel_says) {
    const Files files;
    const auto path = files.write("meminfo",
                                  "MemTotal:        2000 kB\n"
                                  "HugePages_Total:       0\n"
                                  "MemAvailable:    1000 kB\n");
    EXPECT_EQ(available_memory(path.c_str()), 1000U << 10);
    EXPECT_EQ(available_memory("/nonexistent"), ~std::uint64_t{0});
    EXPECT_GT(available_memory(), 0U);
}

TEST(SnapshotSignal, is_seen_once_and_ends_nothing) {
    SnapshotSignal wish;
    EXPECT_FALSE(wish.take());
    raise(SIGUSR1);
    raise(SIGUSR1);
    pollfd polled = {wish.fd(), POLLIN, 0};
    EXPECT_EQ(poll(&polled, 1, 0), 1);
    EXPECT_TRUE(wish.take());
    EXPECT_FALSE(wish.take());
}

TEST(StopSignals, leaves_the_old_handlers_behind) {
    { const StopSignals stop; }
    struct sigaction action = {};
    sigaction(SIGTERM, nullptr, &action);
    EXPECT_EQ(action.sa_handler, SIG_DFL);
}

TEST(StopSignals, in_an_applications_process_takes_none) {
    struct sigaction before = {}, meanwhile = {};
    sigaction(SIGTERM, nullptr, &before);
    const StopSignals ours;
    sigaction(SIGTERM, nullptr, &meanwhile);
    EXPECT_NE(before.sa_handler, meanwhile.sa_handler);
    const StopSignals first(Process::kCallers), second(Process::kCallers);
    raise(SIGTERM);
    EXPECT_TRUE(ours.requested());
    EXPECT_FALSE(first.requested() || second.sent());
    EXPECT_NO_THROW(first.check());
}

TEST(StopSignals, second_signal_ends_the_process) {
    EXPECT_EXIT(
        {
            const StopSignals stop;
            raise(SIGINT);
            raise(SIGINT);
        },
        testing::ExitedWithCode(128 + SIGINT), "");
}

TEST(Child, status_comes_back) {
    Child child = Child::start({"/bin/sh", "-c", "exit 7"});
    pollfd polled = {child.fd(), POLLIN, 0};
    EXPECT_EQ(poll(&polled, 1, 10'000), 1);
    EXPECT_EQ(describe_wait_status(child.wait()), "status 7");
}

TEST(Child, status_comes_back_where_sigchld_was_ignored) {
    signal(SIGCHLD, SIG_IGN);
    Child child = Child::start({"/bin/sh", "-c", "exit 7"});
    EXPECT_EQ(describe_wait_status(child.wait()), "status 7");
}

TEST(Child, output_goes_to_stderr) {
    testing::internal::CaptureStderr();
    Child child = Child::start({"/bin/sh", "-c", "echo shown"});
    child.wait();
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "shown\n");
}

TEST(Child, missing_program_throws_its_errno) {
    try {
        Child::start({"/nonexistent"});
        ADD_FAILURE();
    } catch (const std::system_error& error) {
        EXPECT_EQ(error.code(), std::errc::no_such_file_or_directory);
    }
}

TEST(Child, running_one_is_ended_with_its_owner) {
    pid_t pid = 0;
    {
        Pipe pipe;
        Child child = Child::start({"/bin/sleep", "1000"});
        EXPECT_EQ(describe_wait_status(child.end()), "signal 15 (Terminated)");
        const Child dropped = Child::start({"/bin/sleep", "1000"});
    }
    pid = waitpid(-1, nullptr, WNOHANG);
    EXPECT_EQ(pid, -1);  // none left, not even a zombie
}

/// What a shell can write to, whatever its number is.
std::string path_of(const UniqueFd& fd) {
    return "/proc/self/fd/" + std::to_string(fd.get());
}

TEST(Child, takes_what_it_has_started_with_it) {
    Pipe pipe;
    UniqueFd held(dup(pipe.writer.get()));  // by all that run
    Child child =
        Child::start({"/bin/sh", "-c",
                      "(trap '' TERM; echo >$0; sleep 1000) & sh -c 'echo >$0; sleep 1000; true' "
                      "$0 & sleep 1000; true",
                      path_of(held)});
    pipe.writer = UniqueFd();
    held = UniqueFd();
    // Both are there, and the one is deaf.
    char byte = 0;
    EXPECT_EQ(read(pipe.reader.get(), &byte, 1), 1);
    EXPECT_EQ(read(pipe.reader.get(), &byte, 1), 1);
    child.end();
    EXPECT_EQ(read(pipe.reader.get(), &byte, 1), 0);
}

/// The shell's command writes a line to $0 when its trap is set.
void expect_all_ends(const char* command) {
    Pipe pipe;
    UniqueFd held(dup(pipe.writer.get()));  // by all that run
    Child child = Child::start({"/bin/sh", "-c", command, path_of(held)});
    pipe.writer = UniqueFd();
    held = UniqueFd();
    char byte = 0;
    EXPECT_EQ(read(pipe.reader.get(), &byte, 1), 1);
    child.end();
    pollfd closed = {pipe.reader.get(), POLLIN, 0};
    EXPECT_EQ(poll(&closed, 1, 1'000), 1);
    EXPECT_EQ(closed.revents, POLLHUP);
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);  // no child is left, ended or not
}

TEST(Child, takes_what_is_started_while_it_should_end_with_it) {
    expect_all_ends("trap 'sleep 30' TERM; sleep 30 & echo >$0; wait; wait");
}

TEST(Child, takes_what_its_parent_has_left_behind_with_it) {
    expect_all_ends("trap 'sleep 30 & exit' TERM; sleep 30 & echo >$0; wait");
}

TEST(Child, lets_one_whose_parent_has_ended_clean_up) {
    Pipe pipe;
    UniqueFd held(dup(pipe.writer.get()));
    Child child = Child::start({"/bin/sh", "-c",
                                "(trap 'sleep 0.2 && echo >$0; exit' TERM; sleep 30 & echo >$0; "
                                "wait) & wait; true",
                                path_of(held)});
    pipe.writer = UniqueFd();
    held = UniqueFd();
    char byte = 0;
    EXPECT_EQ(read(pipe.reader.get(), &byte, 1), 1);  // its trap is set
    child.end();
    EXPECT_EQ(read(pipe.reader.get(), &byte, 1), 1);  // it has slept and written
    EXPECT_EQ(read(pipe.reader.get(), &byte, 1), 0);
}

TEST(Child, leaves_our_other_children_alone) {
    Child other = Child::start({"/bin/sleep", "30"});
    Child child = Child::start({"/bin/sleep", "30"});
    child.end();
    pollfd ended = {other.fd(), POLLIN, 0};
    EXPECT_EQ(poll(&ended, 1, 0), 0);
}

/// The number that a shell has written to the pipe.
pid_t read_pid(const Pipe& pipe) {
    std::string text;
    for (char byte = 0; read(pipe.reader.get(), &byte, 1) == 1 && byte != '\n';)
        text += byte;
    return std::stoi(text);
}

TEST(Child, leaves_alone_what_our_other_children_leave_behind) {
    const Pipe pipe;
    const UniqueFd held(dup(pipe.writer.get()));
    Child other = Child::start(
        {"/bin/sh", "-c", "sleep 0.3; (sleep 60 & echo $! >$0); sleep 60", path_of(held)});
    Child child = Child::start({"/bin/sh", "-c", "trap '' TERM; sleep 1.5"});
    usleep(100'000);  // its trap is set
    child.end();
    const pid_t left = read_pid(pipe);
    EXPECT_EQ(kill(left, 0), 0);
    kill(left, SIGKILL);
}

/// Runs `act` in a process of its own, with all that gtest says there.
void in_own_process(const std::function<void()>& act) {
    const pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
        act();
        _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
}

TEST(Child, in_a_pid_namespace_waits_for_no_stranger) {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
    const Pipe begun, pipe, trapped;
    const UniqueFd waits(dup(begun.reader.get())), held(dup(pipe.writer.get())),
        told(dup(trapped.writer.get()));
    const std::string tells = path_of(told);
    // The outer process 1 gets a child while the inner one ends its own.
    Child stranger =
        Child::start({"/bin/sh", "-c", "read x <$0; sleep 0.5; (sleep 60 & echo $! >$1)",
                      path_of(waits), path_of(held)});
    in_own_process([&] {
        ASSERT_EQ(unshare(CLONE_NEWPID), 0);
        in_own_process([&] {
            ASSERT_EQ(write(begun.writer.get(), "\n", 1), 1);
            Child child =
                Child::start({"/bin/sh", "-c", "trap '' TERM; echo >$0; sleep 1.5; exit 3", tells});
            char word = 0;
            ASSERT_EQ(read(trapped.reader.get(), &word, 1), 1);  // its trap is set
            int rounds = 0;
            EXPECT_EQ(WEXITSTATUS(child.end([&] { ++rounds; })), 3);
            EXPECT_LT(rounds, 2'000) << "each is a millisecond at least while the child runs";
        });
    });
    const pid_t left = read_pid(pipe);
    EXPECT_EQ(kill(left, 0), 0) << "it was waited for";
    kill(left, SIGKILL);
}

TEST(Child, that_has_become_another_user_is_not_waited_for) {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
    const TempDir folder;
    const std::filesystem::path program = folder.path() / "setpriv";
    std::filesystem::copy("/usr/bin/setpriv", program);
    ASSERT_EQ(chmod(folder.path().c_str(), 0755), 0);
    ASSERT_EQ(chmod(program.c_str(), 04755), 0);
    in_own_process([&] {
        ASSERT_EQ(setgid(65534), 0);
        ASSERT_EQ(setuid(65534), 0);
        Child child =
            Child::start({program, "--reuid", "0", "sh", "-c", "exec sleep 60 >/dev/null 2>&1"});
        usleep(500'000);  // it has
        int rounds = 0;
        EXPECT_EQ(child.end([&] { ++rounds; }), 0);
        EXPECT_LT(rounds, 6'000) << "no more than the grace";
        pollfd ended = {child.fd(), POLLIN, 0};
        EXPECT_EQ(poll(&ended, 1, 0), 0) << "it was waited for";
    });
}

TEST(Child, gets_the_default_sigpipe) {
    const StopSignals stop;
    Child child = Child::start({"/bin/sh", "-c", "kill -PIPE $$"});
    EXPECT_EQ(describe_wait_status(child.wait()), "signal 13 (Broken pipe)");
}

}  // namespace
}  // namespace djprobe::loader
