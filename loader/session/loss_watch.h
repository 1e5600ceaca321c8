// SPDX-License-Identifier: GPL-2.0
// Lost events and missed hits, told while they occur: who reads a result wants to know early that
// some of it is missing.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/ticker.h"
#include "session/event_loop.h"

namespace djprobe::loader {

struct Losses {
    std::uint64_t lost = 0;    ///< events, as far as they are counted
    std::uint64_t missed = 0;  ///< hits
};

/// "12 events lost and 3 hits missed in a second (40 and 3 in all)", or "" where there is nothing
/// new.
std::string loss_line(const Losses& before, const Losses& now);

class LossWatch {
  public:
    explicit LossWatch(std::function<Losses()> count) : count_(std::move(count)) {}
    /// For the event loop.
    [[nodiscard]] Watched watched();

  private:
    void look();

    std::function<Losses()> count_;
    Losses before_;
    Ticker ticker_{1};
};

}  // namespace djprobe::loader
