// SPDX-License-Identifier: GPL-2.0
// Signals that are sent to probeload while a tool runs.
#pragma once

#include <csignal>

#include "base/unique_fd.h"
#include "run/signal_watch.h"
#include "run/tool.h"

namespace djprobe::loader {

/// Those that would end probeload: it ends with the tool. What was sent to probeload is passed on.
/// What is typed at the terminal, or sent to the whole group, reaches the tool by itself: a second
/// one may make it give up what it does at the first.
class PassedOn {
  public:
    PassedOn();
    ~PassedOn();
    PassedOn(const PassedOn&) = delete;
    PassedOn& operator=(const PassedOn&) = delete;

    [[nodiscard]] int fd() const noexcept { return fd_.get(); }

    /// What the process had blocked before these.
    [[nodiscard]] const sigset_t& blocked_before() const noexcept { return before_; }
    /// The tool has begun.
    void follow(const Tool& tool) { watch_.follow(tool.pid()); }
    /// Passes on those that have come. True: one of them asks for an end.
    [[nodiscard]] bool pass_on(const Tool& tool) const;

  private:
    sigset_t before_{};
    UniqueFd fd_;
    SignalWatch watch_;
};

}  // namespace djprobe::loader
