// SPDX-License-Identifier: GPL-2.0
#include "base/stop_signals.h"

#include <sys/eventfd.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstring>

#include "base/error.h"
#include "base/temp_dir.h"

namespace djprobe::loader {
namespace {

volatile std::sig_atomic_t stop_requested = 0;
volatile std::sig_atomic_t signals_seen = 0;
int stop_fd = -1;

constexpr std::array kStopSignals = {SIGINT, SIGTERM, SIGHUP, SIGALRM};
std::array<struct sigaction, kStopSignals.size()> previous_actions;
struct sigaction previous_pipe_action;

// A year; the timer takes no more than some.
constexpr double kLongest = 366.0 * 24 * 3600;

void on_signal(int signal) {
    const int saved_errno = errno;
    if (signal != SIGALRM && signals_seen) {
        TempDir::remove_all_at_once();
        _exit(128 + signal);
    }
    if (signal != SIGALRM) signals_seen = 1;
    stop_requested = 1;
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(stop_fd, &one, sizeof one);
    // A signal may come between the look at the flag and the system call that it should interrupt
    // (DJPROBE_IOC_WAIT): the alarm interrupts that call a second later.
    alarm(1);
    errno = saved_errno;
}

}  // namespace

StopSignals::StopSignals(Process process) : takes_signals_(process == Process::kOurs) {
    if (!takes_signals_) return;
    stop_requested = 0;
    signals_seen = 0;
    stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (stop_fd < 0) fail(ExitCode::kFailure, "eventfd: {}", std::strerror(errno));

    struct sigaction action = {};
    action.sa_handler = on_signal;  // without SA_RESTART: calls must be interrupted
    sigemptyset(&action.sa_mask);
    // The parent process may have blocked these signals.
    sigset_t ours;
    sigemptyset(&ours);
    for (const int signal : kStopSignals)
        sigaddset(&ours, signal);
    sigprocmask(SIG_UNBLOCK, &ours, nullptr);
    for (std::size_t i = 0; i < kStopSignals.size(); ++i) {
        sigaction(kStopSignals[i], &action, &previous_actions[i]);
        const bool ignored = previous_actions[i].sa_handler == SIG_IGN;
        if (kStopSignals[i] == SIGHUP && ignored) sigaction(SIGHUP, &previous_actions[i], nullptr);
    }
    // A closed stdout is an answer of write(), not the death of the process.
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, &previous_pipe_action);
}

StopSignals::~StopSignals() {
    if (!takes_signals_) return;
    alarm(0);
    for (std::size_t i = 0; i < kStopSignals.size(); ++i) {
        sigaction(kStopSignals[i], &previous_actions[i], nullptr);
    }
    sigaction(SIGPIPE, &previous_pipe_action, nullptr);
    close(stop_fd);
    stop_fd = -1;
}

void StopSignals::request_after(double seconds) noexcept {
    double whole = 0;
    const double part = std::modf(std::min(seconds, kLongest), &whole);
    itimerval time = {};
    time.it_value.tv_sec = static_cast<time_t>(whole);
    // A timer of 0 would never fire.
    time.it_value.tv_usec = std::max<suseconds_t>(1, static_cast<suseconds_t>(part * 1e6));
    setitimer(ITIMER_REAL, &time, nullptr);
    // Its alarm is the same timer.
    if (stop_requested) alarm(1);
}

bool StopSignals::requested() const noexcept {
    return takes_signals_ && stop_requested != 0;
}

bool StopSignals::sent() const noexcept {
    return takes_signals_ && signals_seen != 0;
}

void StopSignals::check() const {
    if (requested()) fail(ExitCode::kFailure, "stopped before the probes were in");
}

int StopSignals::fd() const noexcept {
    return stop_fd;
}

}  // namespace djprobe::loader
