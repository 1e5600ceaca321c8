// SPDX-License-Identifier: GPL-2.0
// A tool while it runs: its calls are answered, its end is noticed.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

#include "run/keeper.h"
#include "run/ledger.h"
#include "run/passed_on.h"
#include "run/takeover.h"
#include "run/tool.h"

namespace djprobe::loader {

class Service {
  public:
    /// Without a filter there is neither a ledger nor a takeover.
    Service(Tool& tool, const PassedOn& signals, Ledger* ledger, Takeover* takeover);

    /// Waits until something has come, or `other` is readable, or the time is over (-1: never), and
    /// deals with what has come. True: a signal asks for an end.
    bool step(int limit_ms = -1, int other = -1);

    /// The tool's, as of waitpid(); none: it runs.
    [[nodiscard]] const std::optional<int>& status() const { return status_; }
    /// The tool has ended, and no process that it has left behind is under the filter.
    [[nodiscard]] bool done() const { return status_ && !listening_; }
    /// How many calls were handed over.
    [[nodiscard]] std::size_t calls() const { return calls_; }
    /// No probe waits for its jump.
    [[nodiscard]] bool settled() const { return !look_again_; }

  private:
    void look();

    Tool& tool_;
    const PassedOn& signals_;
    Ledger* ledger_;
    Takeover* takeover_;
    bool listening_;
    std::optional<Keeper> keeper_;
    bool look_again_ = false;
    std::chrono::steady_clock::time_point last_look_{};
    std::optional<int> status_;
    std::size_t calls_ = 0;
};

}  // namespace djprobe::loader
