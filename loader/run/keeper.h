// SPDX-License-Identifier: GPL-2.0
// What keeps the tool's calls going when probeload has ended.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "base/unique_fd.h"

namespace djprobe::loader {

/// A process that has the listener, too, and nothing else. No filter can be taken back: where the
/// last listener has gone, each call that it hands over fails (ENOSYS). Once probeload has ended,
/// also by SIGKILL, the process lets all calls go on to the kernel, until no task is under the
/// filter.
class Keeper {
  public:
    /// Costs what the process has written so far: make it before it grows. Where there can be no
    /// process more, and where children are in another PID namespace, there is none.
    explicit Keeper(const UniqueFd& listener);
    /// The keeper takes over, if a task is still under the filter.
    ~Keeper();
    Keeper(const Keeper&) = delete;
    Keeper& operator=(const Keeper&) = delete;

    /// This call has come. Its thread waits for an answer also when probeload is killed before it
    /// gives one.
    void note(std::uint64_t call);
    /// No task is under the filter any more.
    void end();
    /// Its process; -1: there is none.
    [[nodiscard]] pid_t pid() const { return pid_; }

  private:
    struct Shared;
    Shared* shared_ = nullptr;
    pid_t pid_ = -1;
};

}  // namespace djprobe::loader
