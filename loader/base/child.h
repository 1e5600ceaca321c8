// SPDX-License-Identifier: GPL-2.0
// Other programs that probeload runs: clang, and the COMMAND of -c.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "base/process.h"
#include "base/unique_fd.h"

namespace djprobe::loader {

/// A started child process. The destructor ends one that still runs.
class Child {
  public:
    /// Starts argv[0], searched for in PATH. What it writes to stdout goes to stderr: our own
    /// stdout belongs to the events. Throws std::system_error with the errno of the start.
    static Child start(const std::vector<std::string>& argv);
    /// The same; what it writes goes to this descriptor.
    static Child start_into(int output, const std::vector<std::string>& argv,
                            Process process = Process::kOurs);
    Child(Child&& other) noexcept;
    Child& operator=(Child&&) = delete;
    ~Child();

    /// Readable when the child has ended; for poll().
    [[nodiscard]] int fd() const noexcept { return pidfd_.get(); }
    /// Waits for the end. The status as of waitpid(). 0 where an application ignores SIGCHLD: then
    /// the kernel keeps none.
    int wait();
    /// SIGTERM to a running child and to all that it has started, a grace of 5 s, in which `idle`
    /// is called each millisecond, then SIGKILL. The status as of waitpid(); 0 if it runs as
    /// another user, may not be signalled, and goes on.
    int end(const std::function<void()>& idle = {});

  private:
    Child(pid_t pid, UniqueFd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}

    pid_t pid_;
    UniqueFd pidfd_;
};

/// What has run to its end.
struct Finished {
    int status;          ///< as of waitpid()
    std::string output;  ///< stdout and stderr
};
/// Throws as Child::start() does.
Finished run_to_end(const std::vector<std::string>& argv, Process process = Process::kOurs);

/// "status 3" or "signal 15 (Terminated)".
std::string describe_wait_status(int status);

}  // namespace djprobe::loader
