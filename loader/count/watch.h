// SPDX-License-Identifier: GPL-2.0
// While counters count: the command runs, time passes, and what they say is shown again and again.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "base/child.h"
#include "base/output.h"
#include "base/snapshot_signal.h"
#include "base/stop_signals.h"
#include "session/numbers_watch.h"

namespace djprobe::loader {

/// What ends it, and how often it is shown.
struct WatchOptions {
    std::optional<double> seconds;
    std::optional<double> interval;  ///< none: every second on a terminal, else only at the end
    std::optional<std::string> command;
    bool exit_status = false;  ///< end with the command's
    bool json = false;
};

class Watch {
  public:
    Watch(const WatchOptions& options, Output& output);

    /// What run() hands to `take`, as NumbersWatch does. Both outlive it.
    void tell(Numbers take, std::function<Summary()> snapshot);

    /// Until a stop is requested, the command ends, or the reader of stdout is gone. Calls
    /// show(seconds since it was called last) at each interval and each wish for a snapshot.
    /// Returns how the command has ended, as of waitpid(). `child` outlives the probes: it may take
    /// its time to end.
    std::optional<int> run(StopSignals& stop, SnapshotSignal& wish, std::optional<Child>& child,
                           const std::function<void(double)>& show);
    /// A table: on a terminal over the last one.
    void print(const std::string& table);

  private:
    using Clock = std::chrono::steady_clock;

    /// Milliseconds until the next look, or -1.
    [[nodiscard]] int wait() const;
    void show_if_due(bool wished, const std::function<void(double)>& show);
    /// True: the command has ended.
    bool until_end(const StopSignals& stop, SnapshotSignal& wish, int command,
                   const std::function<void(double)>& show);

    const WatchOptions& options_;
    Output& output_;
    bool redraws_;
    double interval_;  // 0: never
    Numbers take_;
    std::function<Summary()> snapshot_;
    Clock::time_point last_ = Clock::now();
};

}  // namespace djprobe::loader
