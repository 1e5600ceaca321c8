// SPDX-License-Identifier: GPL-2.0
// Numbers for others, while a session runs.
#pragma once

#include <chrono>
#include <functional>

#include "base/ticker.h"
#include "session/event_loop.h"
#include "session/summary.h"

namespace djprobe::loader {

/// Takes all numbers, while they change and at the end.
using Numbers = std::function<void(const Summary&)>;

/// Takes a snapshot each second, or less often where that takes long, and hands it to `take`, at
/// once for the first time. Without `take` it does nothing.
class NumbersWatch {
  public:
    NumbersWatch(Numbers take, std::function<Summary()> snapshot);
    /// For the event loop.
    [[nodiscard]] Watched watched();

  private:
    using Clock = std::chrono::steady_clock;

    void look();

    Numbers take_;
    std::function<Summary()> snapshot_;
    Ticker ticker_;
    Clock::time_point next_{};
};

}  // namespace djprobe::loader
