// SPDX-License-Identifier: GPL-2.0
#include "run/bench_workload.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>

#include "bench/workload.h"

namespace djprobe::loader {
namespace {

constexpr int kCalls = 5000;  // of each kind

[[noreturn]] void make_calls() {
    const Pin pin;
    for (const Workload& workload : workloads())
        for (int call = 0; call < kCalls; ++call)
            workload.call();
    _exit(0);
}

// Behind the terminal's back: a group of its own that reads from there would be stopped.
void leave_terminal() {
    setpgid(0, 0);
    const int nothing = open("/dev/null", O_RDONLY);
    if (nothing >= 0) dup2(nothing, STDIN_FILENO);
    dup2(STDERR_FILENO, STDOUT_FILENO);
}

[[noreturn]] void work(const std::string& command) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    signal(SIGPIPE, SIG_DFL);
    leave_terminal();
    if (command.empty()) make_calls();
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
}

}  // namespace

std::string workload_name(const std::string& command) {
    if (!command.empty()) return command;
    std::string names;
    for (const Workload& workload : workloads())
        names += fmt::format("{}{}", names.empty() ? "" : ", ", workload.name);
    return fmt::format("{} calls each of {}", kCalls, names);
}

WorkloadRun::WorkloadRun(const std::string& command) : pid_(fork()) {
    if (pid_ == 0) work(command);
    if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
    setpgid(pid_, pid_);
    pidfd_ = UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
}

WorkloadRun::~WorkloadRun() {
    if (pid_ <= 0) return;
    kill(-pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
}

int WorkloadRun::wait() {
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = 0;
    return status;
}

}  // namespace djprobe::loader
