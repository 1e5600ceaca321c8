// SPDX-License-Identifier: GPL-2.0
// A clock that ticks for poll().
#pragma once

#include "base/unique_fd.h"

namespace djprobe::loader {

class Ticker {
  public:
    /// Ticks never; for poll() it has no descriptor.
    Ticker() = default;
    /// Ticks each time so many seconds have passed. Throws Error.
    explicit Ticker(double seconds);

    /// Readable once it has ticked.
    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    /// True if it has since the last call.
    bool take() noexcept;
    /// Ticks no more; the descriptor stays, for a loop that goes on polling it.
    void stop() noexcept;

  private:
    UniqueFd fd_;
};

}  // namespace djprobe::loader
