// SPDX-License-Identifier: GPL-2.0
// The tool's process: started behind the filter, waited for.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace djprobe::loader {

enum class Filter { kNone, kWanted, kRequired };
enum class Stdout { kOurs, kNone };

class Tool {
  public:
    /// Starts it with this process's descriptors 0 to 2, or what it prints goes nowhere, and the
    /// `blocked` signals; what this process ignores it ignores, as services do SIGPIPE. Behind a
    /// filter its calls come to listener(). Throws std::system_error where it cannot be run, and
    /// Error where a required filter cannot be had.
    static Tool start(const std::vector<std::string>& argv, Filter filter,
                      Stdout output = Stdout::kOurs, const sigset_t& blocked = {});

    /// None: the tool runs without a filter, since filter_error(): EBUSY where it has one with a
    /// listener already.
    [[nodiscard]] const UniqueFd& listener() const noexcept { return listener_; }
    [[nodiscard]] int filter_error() const noexcept { return filter_error_; }
    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    /// Readable once it has ended.
    [[nodiscard]] int fd() const noexcept { return pidfd_.get(); }
    void signal(int number) const;
    /// Its status as of waitpid(). Call once, when it has ended.
    int wait();

  private:
    pid_t pid_ = 0;
    UniqueFd pidfd_, listener_;
    int filter_error_ = 0;
};

/// Reaps the children that have ended, but for one: the first process of a PID namespace gets all
/// orphans there.
void reap_orphans(pid_t but);

/// Ends as a tool with this status of waitpid() has ended: by the signal, or with what is returned.
int end_as(int status);

}  // namespace djprobe::loader
