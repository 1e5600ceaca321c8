// SPDX-License-Identifier: GPL-2.0
#include "base/process_tree.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

namespace djprobe::loader {
namespace {

// In a PID namespace /proc may still be that of the outer one, where our numbers are those of
// others.
bool proc_has_our_numbers() {
    std::error_code none;
    return std::filesystem::read_symlink("/proc/self", none) == std::to_string(getpid());
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

std::vector<pid_t> our_children() {
    return proc_has_our_numbers() ? children_of(getpid()) : std::vector<pid_t>{};
}

}  // namespace

ProcessTree::ProcessTree(pid_t root) : ours_(our_children()), adopts_(ours_ == std::vector{root}) {
    prctl(PR_GET_CHILD_SUBREAPER, &was_reaper_);
    if (adopts_) prctl(PR_SET_CHILD_SUBREAPER, 1);
    add(root);
}

ProcessTree::~ProcessTree() {
    prctl(PR_SET_CHILD_SUBREAPER, was_reaper_);
}

void ProcessTree::kill_all() {
    for (std::size_t i = 0; i < processes_.size(); ++i)
        if (!ended(processes_[i])) add(processes_[i].pid);
    killed_ = true;
    signal_all(SIGKILL);
}

bool ProcessTree::has_ended() {
    const bool all = std::ranges::all_of(processes_, [&](const Process& one) {
        return (one.out_of_reach && killed_) || ended(one, 1);
    });
    std::erase_if(processes_, [](const Process& one) { return ended(one); });
    // By the end of a process the kernel has given its children to us.
    return !adopt() && all;
}

bool ProcessTree::is_out_of_reach(pid_t pid) const {
    return std::ranges::any_of(
        processes_, [pid](const Process& one) { return one.pid == pid && one.out_of_reach; });
}

bool ProcessTree::ended(const Process& process, int wait_ms) {
    pollfd ended = {process.fd.get(), POLLIN, 0};
    return poll(&ended, 1, wait_ms) > 0;
}

void ProcessTree::send_behind(std::size_t known, int signal) {
    for (std::size_t i = known; i < processes_.size(); ++i) {
        const int fd = processes_[i].fd.get();
        const bool sent = syscall(SYS_pidfd_send_signal, fd, signal, nullptr, 0) == 0;
        processes_[i].out_of_reach = !sent && errno == EPERM;
    }
}

// The number of one that has ended may be another process' by now.
bool ProcessTree::is_known(pid_t pid) const {
    return std::ranges::any_of(
        processes_, [pid](const Process& known) { return known.pid == pid && !ended(known); });
}

void ProcessTree::add(pid_t pid) {
    if (!is_known(pid)) {
        UniqueFd fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
        if (fd) processes_.push_back({pid, std::move(fd)});
    }
    if (!proc_has_our_numbers()) return;
    for (const pid_t child : children_of(pid))
        add(child);
}

// False: nothing has been left behind since the last time.
bool ProcessTree::adopt() {
    if (!adopts_) return false;
    const std::size_t known = processes_.size();
    bool found = false;
    for (const pid_t child : our_children()) {
        if (std::ranges::find(ours_, child) != ours_.end()) continue;
        if (waitpid(child, nullptr, WNOHANG) > 0)
            found = true;  // it has ended, and may have left others behind
        else if (!is_known(child))
            add(child);  // one that has had the signal keeps what it has started to clean up
    }
    send_behind(known, SIGTERM);
    return found || processes_.size() != known;
}

}  // namespace djprobe::loader
