// SPDX-License-Identifier: GPL-2.0
#include "base/child.h"

#include <fmt/core.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>
#include <utility>

namespace djprobe::loader {
namespace {

class SpawnAttributes {
  public:
    SpawnAttributes() {
        posix_spawn_file_actions_init(&actions);
        posix_spawnattr_init(&attributes);
        // SIGPIPE is ignored here, and that would survive exec.
        sigset_t defaults;
        sigemptyset(&defaults);
        sigaddset(&defaults, SIGPIPE);
        posix_spawnattr_setsigdefault(&attributes, &defaults);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    }
    SpawnAttributes(const SpawnAttributes&) = delete;
    SpawnAttributes& operator=(const SpawnAttributes&) = delete;
    ~SpawnAttributes() {
        posix_spawnattr_destroy(&attributes);
        posix_spawn_file_actions_destroy(&actions);
    }

    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
};

}  // namespace

Child Child::start(const std::vector<std::string>& argv, ChildOutput output) {
    SpawnAttributes spawn;
    if (output == ChildOutput::kToStderr) {
        posix_spawn_file_actions_adddup2(&spawn.actions, STDERR_FILENO, STDOUT_FILENO);
    }

    std::vector<char*> raw;
    raw.reserve(argv.size() + 1);
    for (const std::string& argument : argv)
        raw.push_back(const_cast<char*>(argument.c_str()));
    raw.push_back(nullptr);

    pid_t pid = 0;
    const int error =
        posix_spawnp(&pid, raw[0], &spawn.actions, &spawn.attributes, raw.data(), environ);
    if (error != 0) throw std::system_error(error, std::generic_category(), argv[0]);

    Child child(pid, UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))));
    if (!child.pidfd_) throw std::system_error(errno, std::generic_category(), "pidfd_open");
    return child;
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)), pidfd_(std::move(other.pidfd_)) {}

Child::~Child() {
    if (pid_ == 0) return;
    terminate();
    wait();
}

int Child::wait() {
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0) {
        if (errno != EINTR) break;
    }
    pid_ = 0;
    return status;
}

void Child::terminate() noexcept {
    if (pid_ != 0) ::kill(pid_, SIGTERM);
}

void Child::kill() noexcept {
    if (pid_ != 0) ::kill(pid_, SIGKILL);
}

std::string describe_wait_status(int status) {
    if (WIFSIGNALED(status)) {
        return fmt::format("signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
    }
    return fmt::format("status {}", WEXITSTATUS(status));
}

}  // namespace djprobe::loader
