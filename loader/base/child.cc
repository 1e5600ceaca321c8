// SPDX-License-Identifier: GPL-2.0
#include "base/child.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>

#include "base/descriptors.h"
#include "base/process_tree.h"

namespace djprobe::loader {
namespace {

constexpr int kGraceMs = 5000;
/// After SIGKILL. What starts new processes all the time is never through.
constexpr int kKillMs = 5000;

UniqueFd open_process(pid_t pid) {
    return UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
}

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

Child Child::start(const std::vector<std::string>& argv) {
    return start_into(STDERR_FILENO, argv);
}

Child Child::start_into(int output, const std::vector<std::string>& argv, Process process) {
    // The parent process may ignore SIGCHLD: then the kernel keeps no child's
    // status.
    if (process == Process::kOurs) signal(SIGCHLD, SIG_DFL);
    SpawnAttributes spawn;
    posix_spawn_file_actions_adddup2(&spawn.actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&spawn.actions, output, STDERR_FILENO);

    std::vector<char*> raw;
    raw.reserve(argv.size() + 1);
    for (const std::string& argument : argv)
        raw.push_back(const_cast<char*>(argument.c_str()));
    raw.push_back(nullptr);

    pid_t pid = 0;
    const int error = [&] {
        const GivenDescriptorLimit limit;
        return posix_spawnp(&pid, raw[0], &spawn.actions, &spawn.attributes, raw.data(), environ);
    }();
    if (error != 0) throw std::system_error(error, std::generic_category(), argv[0]);

    Child child(pid, open_process(pid));
    if (!child.pidfd_) throw std::system_error(errno, std::generic_category(), "pidfd_open");
    return child;
}

Finished run_to_end(const std::vector<std::string>& argv, Process process) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        throw std::system_error(errno, std::generic_category(), "pipe2");
    const UniqueFd reader(ends[0]);
    std::optional<UniqueFd> writer(ends[1]);
    Child child = Child::start_into(writer->get(), argv, process);
    writer.reset();
    Finished finished = {0, {}};
    char text[4096];
    for (ssize_t length = 0; (length = read(reader.get(), text, sizeof text)) != 0;) {
        if (length > 0)
            finished.output.append(text, static_cast<std::size_t>(length));
        else if (errno != EINTR)
            break;
    }
    finished.status = child.wait();
    return finished;
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)), pidfd_(std::move(other.pidfd_)) {}

Child::~Child() {
    if (pid_ != 0) end();
}

int Child::wait() {
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0) {
        if (errno != EINTR) break;
    }
    pid_ = 0;
    return status;
}

int Child::end(const std::function<void()>& idle) {
    ProcessTree tree(pid_);
    tree.signal_all(SIGTERM);
    for (int left = kGraceMs; left > -kKillMs && !tree.has_ended(); --left) {
        if (idle) idle();
        if (left <= 0) tree.kill_all();
    }
    if (!tree.is_out_of_reach(pid_)) return wait();
    pid_ = 0;  // it runs for as long as it likes
    return 0;
}

std::string describe_wait_status(int status) {
    if (WIFSIGNALED(status)) {
        return fmt::format("signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
    }
    return fmt::format("status {}", WEXITSTATUS(status));
}

}  // namespace djprobe::loader
