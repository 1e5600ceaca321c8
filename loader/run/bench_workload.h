// SPDX-License-Identifier: GPL-2.0
// What is timed while a tool watches.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/unique_fd.h"

namespace djprobe::loader {

/// What the report calls the workload of this command; "": system calls of our own.
std::string workload_name(const std::string& command);

/// One run of the workload, in a process group of its own, which the destructor kills.
class WorkloadRun {
  public:
    /// What it prints goes to stderr.
    explicit WorkloadRun(const std::string& command);
    ~WorkloadRun();
    WorkloadRun(const WorkloadRun&) = delete;
    WorkloadRun& operator=(const WorkloadRun&) = delete;

    /// Readable once it has ended.
    [[nodiscard]] int fd() const noexcept { return pidfd_.get(); }
    /// Its status as of waitpid().
    int wait();

  private:
    pid_t pid_;
    UniqueFd pidfd_;
};

}  // namespace djprobe::loader
