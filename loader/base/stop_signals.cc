// SPDX-License-Identifier: GPL-2.0
#include "base/stop_signals.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>

#include "base/error.h"

namespace djprobe::loader {
namespace {

volatile std::sig_atomic_t stop_requested = 0;
int stop_fd = -1;

constexpr std::array kStopSignals = {SIGINT, SIGTERM, SIGALRM};
std::array<struct sigaction, kStopSignals.size()> previous_actions;
struct sigaction previous_pipe_action;

void on_signal(int signal) {
    const int saved_errno = errno;
    if (signal != SIGALRM && stop_requested) _exit(128 + signal);
    stop_requested = 1;
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(stop_fd, &one, sizeof one);
    // A signal may come between the look at the flag and the system call that it should interrupt
    // (DJPROBE_IOC_WAIT): the alarm interrupts that call a second later.
    alarm(1);
    errno = saved_errno;
}

}  // namespace

StopSignals::StopSignals() {
    stop_requested = 0;
    stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (stop_fd < 0) fail(ExitCode::kFailure, "eventfd: {}", std::strerror(errno));

    struct sigaction action = {};
    action.sa_handler = on_signal;  // without SA_RESTART: calls must be interrupted
    sigemptyset(&action.sa_mask);
    for (std::size_t i = 0; i < kStopSignals.size(); ++i) {
        sigaction(kStopSignals[i], &action, &previous_actions[i]);
    }
    // A closed stdout is an answer of write(), not the death of the process.
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, &previous_pipe_action);
}

StopSignals::~StopSignals() {
    alarm(0);
    for (std::size_t i = 0; i < kStopSignals.size(); ++i) {
        sigaction(kStopSignals[i], &previous_actions[i], nullptr);
    }
    sigaction(SIGPIPE, &previous_pipe_action, nullptr);
    close(stop_fd);
    stop_fd = -1;
}

bool StopSignals::requested() const noexcept {
    return stop_requested != 0;
}

int StopSignals::fd() const noexcept {
    return stop_fd;
}

}  // namespace djprobe::loader
