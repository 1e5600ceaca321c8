// SPDX-License-Identifier: GPL-2.0
#include "base/child.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>

namespace djprobe::loader {
namespace {

constexpr int kGraceMs = 5000;

UniqueFd open_process(pid_t pid) {
    return UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
}

std::vector<pid_t> children_of(pid_t pid) {
    std::vector<pid_t> all;
    std::error_code gone;  // the process may end meanwhile
    std::filesystem::directory_iterator task(fmt::format("/proc/{}/task", pid), gone);
    for (; !gone && task != std::filesystem::directory_iterator(); task.increment(gone)) {
        std::ifstream children(task->path() / "children");
        for (pid_t child = 0; children >> child;)
            all.push_back(child);
    }
    return all;
}

// A child of ours and all below it. A process group of their own would do it,
// too, but would not get what is typed at the terminal. A process may end after
// it was looked at, and leave behind one that it has started since: as long as
// a Tree lives, the kernel makes that a child of ours, not of init.
class Tree {
  public:
    explicit Tree(pid_t root) : ours_(children_of(getpid())) {
        prctl(PR_GET_CHILD_SUBREAPER, &was_reaper_);
        prctl(PR_SET_CHILD_SUBREAPER, 1);
        add(root);
    }
    Tree(const Tree&) = delete;
    Tree& operator=(const Tree&) = delete;
    ~Tree() { prctl(PR_SET_CHILD_SUBREAPER, was_reaper_); }

    void signal_all(int signal) const { send_behind(0, signal); }
    /// What the processes have started since is not signalled while they live: it
    /// may be what cleans up.
    void kill_all() {
        for (std::size_t i = 0; i < processes_.size(); ++i)
            if (!ended(processes_[i])) add(processes_[i].pid);
        signal_all(SIGKILL);
    }
    /// Waits a millisecond for it, and sends SIGTERM to what was left behind.
    bool has_ended() {
        const bool all =
            std::ranges::all_of(processes_, [](const Process& one) { return ended(one, 1); });
        // By the end of a process the kernel has given its children to us.
        return !adopt() && all;
    }

  private:
    struct Process {
        pid_t pid;
        UniqueFd fd;
    };

    static bool ended(const Process& process, int wait_ms = 0) {
        pollfd ended = {process.fd.get(), POLLIN, 0};
        return poll(&ended, 1, wait_ms) > 0;
    }
    void send_behind(std::size_t known, int signal) const {
        for (std::size_t i = known; i < processes_.size(); ++i)
            syscall(SYS_pidfd_send_signal, processes_[i].fd.get(), signal, nullptr, 0);
    }
    // The number of one that has ended may be another process' by now.
    bool is_known(pid_t pid) const {
        return std::ranges::any_of(
            processes_, [pid](const Process& known) { return known.pid == pid && !ended(known); });
    }
    void add(pid_t pid) {
        if (!is_known(pid)) {
            UniqueFd fd = open_process(pid);
            if (fd) processes_.push_back({pid, std::move(fd)});
        }
        for (const pid_t child : children_of(pid))
            add(child);
    }
    // False: nothing has been left behind since the last time.
    bool adopt() {
        const std::size_t known = processes_.size();
        bool found = false;
        for (const pid_t child : children_of(getpid())) {
            if (std::ranges::find(ours_, child) != ours_.end()) continue;
            if (waitpid(child, nullptr, WNOHANG) != 0)
                found = true;  // it has ended, and may have left others behind
            else if (!is_known(child))
                add(child);  // one that has had the signal keeps what it has started to
                             // clean up
        }
        send_behind(known, SIGTERM);
        return found || processes_.size() != known;
    }

    std::vector<pid_t> ours_;  ///< our children of before, the root among them
    std::vector<Process> processes_;
    int was_reaper_ = 0;
};

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

Child Child::start_into(int output, const std::vector<std::string>& argv) {
    // The parent process may ignore SIGCHLD: then the kernel keeps no child's
    // status.
    signal(SIGCHLD, SIG_DFL);
    SpawnAttributes spawn;
    posix_spawn_file_actions_adddup2(&spawn.actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&spawn.actions, output, STDERR_FILENO);

    std::vector<char*> raw;
    raw.reserve(argv.size() + 1);
    for (const std::string& argument : argv)
        raw.push_back(const_cast<char*>(argument.c_str()));
    raw.push_back(nullptr);

    pid_t pid = 0;
    const int error =
        posix_spawnp(&pid, raw[0], &spawn.actions, &spawn.attributes, raw.data(), environ);
    if (error != 0) throw std::system_error(error, std::generic_category(), argv[0]);

    Child child(pid, open_process(pid));
    if (!child.pidfd_) throw std::system_error(errno, std::generic_category(), "pidfd_open");
    return child;
}

Finished run_to_end(const std::vector<std::string>& argv) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        throw std::system_error(errno, std::generic_category(), "pipe2");
    const UniqueFd reader(ends[0]);
    std::optional<UniqueFd> writer(ends[1]);
    Child child = Child::start_into(writer->get(), argv);
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
    Tree tree(pid_);
    tree.signal_all(SIGTERM);
    for (int left = kGraceMs; !tree.has_ended(); --left) {
        if (idle) idle();
        if (left <= 0) tree.kill_all();
    }
    return wait();
}

std::string describe_wait_status(int status) {
    if (WIFSIGNALED(status)) {
        return fmt::format("signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
    }
    return fmt::format("status {}", WEXITSTATUS(status));
}

}  // namespace djprobe::loader
