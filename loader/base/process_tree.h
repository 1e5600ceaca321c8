// SPDX-License-Identifier: GPL-2.0
// A process that we have started, and all that it has started.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <vector>

#include "base/unique_fd.h"

namespace djprobe::loader {

/// A child of ours and all below it, to be ended. A process group of their own would do it, too,
/// but would not get what is typed at the terminal. A process may end after it was looked at, and
/// leave behind one that it has started since: as long as a ProcessTree lives, the kernel makes
/// that a child of ours, not of init. One at a time, without other threads that start processes.
class ProcessTree {
  public:
    explicit ProcessTree(pid_t root);
    ProcessTree(const ProcessTree&) = delete;
    ProcessTree& operator=(const ProcessTree&) = delete;
    ~ProcessTree();

    void signal_all(int signal) { send_behind(0, signal); }
    /// What the processes have started since is not signalled while they live: it may be what
    /// cleans up.
    void kill_all();
    /// Waits a millisecond for it, and sends SIGTERM to what was left behind. After kill_all() a
    /// process that may not be signalled is not waited for.
    bool has_ended();
    /// It runs as another user, and no signal of ours reaches it.
    [[nodiscard]] bool is_out_of_reach(pid_t pid) const;

  private:
    struct Process {
        pid_t pid;
        UniqueFd fd;
        bool out_of_reach = false;
    };

    static bool ended(const Process& process, int wait_ms = 0);
    void send_behind(std::size_t known, int signal);
    [[nodiscard]] bool is_known(pid_t pid) const;
    void add(pid_t pid);
    bool adopt();

    std::vector<pid_t> ours_;  ///< our children of before, the root among them
    /// There are no others, such as who starts some and then becomes probeload leaves it: what
    /// these leave behind would come to us, too, and is not to be ended.
    bool adopts_;
    std::vector<Process> processes_;
    int was_reaper_ = 0;
    bool killed_ = false;
};

}  // namespace djprobe::loader
