// SPDX-License-Identifier: GPL-2.0
#include "base/snapshot_signal.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>

#include "base/error.h"

namespace djprobe::loader {
namespace {

int signal_fd = -1;
struct sigaction previous_action;

void on_snapshot_signal(int) {
    const int saved_errno = errno;
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(signal_fd, &one, sizeof one);
    errno = saved_errno;
}

}  // namespace

SnapshotSignal::SnapshotSignal() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!fd_) fail(ExitCode::kFailure, "eventfd: {}", std::strerror(errno));
    signal_fd = fd_.get();
    struct sigaction action = {};
    action.sa_handler = on_snapshot_signal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(SIGUSR1, &action, &previous_action);
    // The parent process may have blocked it.
    sigset_t ours;
    sigemptyset(&ours);
    sigaddset(&ours, SIGUSR1);
    sigprocmask(SIG_UNBLOCK, &ours, nullptr);
}

SnapshotSignal::~SnapshotSignal() {
    sigaction(SIGUSR1, &previous_action, nullptr);
    signal_fd = -1;
}

bool SnapshotSignal::take() noexcept {
    std::uint64_t count = 0;
    return read(fd_.get(), &count, sizeof count) > 0;
}

}  // namespace djprobe::loader
