// SPDX-License-Identifier: GPL-2.0
// SIGINT and SIGTERM as a wish to stop, seen by polls and by interrupted system calls.
#pragma once

namespace djprobe::loader {

/// Installs the handlers for as long as it lives; one at a time. The second signal ends the process
/// at once: the kernel then removes its probes.
class StopSignals {
  public:
    StopSignals();
    ~StopSignals();
    StopSignals(const StopSignals&) = delete;
    StopSignals& operator=(const StopSignals&) = delete;

    /// True once a signal came.
    [[nodiscard]] bool requested() const noexcept;
    /// Readable once a signal came; for poll().
    [[nodiscard]] int fd() const noexcept;
};

}  // namespace djprobe::loader
