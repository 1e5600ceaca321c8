// SPDX-License-Identifier: GPL-2.0
// systemd, where it has started us as a service that it watches. Else all of this does nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/ticker.h"

namespace djprobe::loader {

/// Sends a message of sd_notify(3): "READY=1".
void tell_manager(std::string_view message) noexcept;

/// Why this process is about to end: `systemctl status` shows it, and `probeload start` tells it.
/// Of several lines the first.
void tell_manager_why(std::string_view reason) noexcept;

/// How often to send "WATCHDOG=1", in seconds: twice in the time after which systemd takes us for
/// hung. None: it does not watch.
std::optional<double> watchdog_interval();

/// A service that is ready, and alive as long as its loop comes round.
class Life {
  public:
    /// Tells that all is attached. Throws Error.
    Life();
    Life(const Life&) = delete;
    Life& operator=(const Life&) = delete;
    /// Tells that it stops: that may take its time.
    ~Life() { tell_manager("STOPPING=1"); }

    /// For poll(): readable when it is time to show().
    [[nodiscard]] int fd() const noexcept { return ticker_.fd(); }
    void show() noexcept;

  private:
    Ticker ticker_;
};

}  // namespace djprobe::loader
