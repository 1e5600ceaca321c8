// SPDX-License-Identifier: GPL-2.0
// SIGINT, SIGTERM, SIGHUP and the end of a duration as a wish to stop, seen by polls and by
// interrupted system calls.
#pragma once

#include "base/process.h"

namespace djprobe::loader {

/// Installs the handlers for as long as it lives; one at a time. The second signal ends the process
/// at once: the kernel then removes its probes. A SIGHUP that was ignored (nohup) stays so. From
/// the wish on, system calls are interrupted once a second.
/// In an application's process it takes no signal, and no wish comes; there may be many.
class StopSignals {
  public:
    explicit StopSignals(Process process = Process::kOurs);
    ~StopSignals();
    StopSignals(const StopSignals&) = delete;
    StopSignals& operator=(const StopSignals&) = delete;

    /// The wish comes by itself, too, after so many seconds.
    void request_after(double seconds) noexcept;
    /// True once a signal came, or the time is over.
    [[nodiscard]] bool requested() const noexcept;
    /// True once a signal came; not where only the time of request_after() is over.
    [[nodiscard]] bool sent() const noexcept;
    /// Throws Error(kFailure) once that is true: for what leads up to the probes.
    void check() const;
    /// Readable once that is true; for poll().
    [[nodiscard]] int fd() const noexcept;

  private:
    bool takes_signals_;
};

}  // namespace djprobe::loader
