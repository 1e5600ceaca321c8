// SPDX-License-Identifier: GPL-2.0
// Signals that are sent to probeload while a tool runs.
#pragma once

#include <csignal>

#include "base/unique_fd.h"
#include "run/tool.h"

namespace djprobe::loader {

/// Those that would end probeload: it ends with the tool. What is typed at the terminal
/// reaches the tool by itself; what was sent to probeload is passed on.
class PassedOn {
  public:
    PassedOn();
    ~PassedOn();
    PassedOn(const PassedOn&) = delete;
    PassedOn& operator=(const PassedOn&) = delete;

    [[nodiscard]] int fd() const noexcept { return fd_.get(); }

    /// Passes on those that have come. True: one of them asks for an end.
    [[nodiscard]] bool pass_on(const Tool& tool) const;

  private:
    sigset_t before_{};
    UniqueFd fd_;
};

}  // namespace djprobe::loader
