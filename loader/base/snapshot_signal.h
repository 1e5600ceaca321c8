// SPDX-License-Identifier: GPL-2.0
// SIGUSR1 as a wish to see how things stand.
#pragma once

#include "base/unique_fd.h"

namespace djprobe::loader {

/// Takes the signal for as long as it lives; one at a time. It interrupts no system call but
/// poll(), and several that come before a look are one.
class SnapshotSignal {
  public:
    SnapshotSignal();
    ~SnapshotSignal();
    SnapshotSignal(const SnapshotSignal&) = delete;
    SnapshotSignal& operator=(const SnapshotSignal&) = delete;

    /// Readable once a signal came; for poll().
    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    /// True if one came since the last call.
    bool take() noexcept;

  private:
    UniqueFd fd_;
};

}  // namespace djprobe::loader
