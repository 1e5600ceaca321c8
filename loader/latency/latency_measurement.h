// SPDX-License-Identifier: GPL-2.0
// What `probeload latency` measures: how long tasks take from one place to another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/stop_signals.h"
#include "kernel/device.h"
#include "kernel/symbolizer.h"
#include "latency/latency_options.h"
#include "latency/programs.h"
#include "latency/tsc_clock.h"
#include "session/attachment.h"
#include "session/kernel_probes.h"
#include "session/measurement.h"
#include "session/summary.h"

namespace djprobe::loader {

/// What measures, and where.
struct Measuring {
    LatencyPrograms programs;
    std::vector<Attachment> attachments{};
    KernelProbes kernel{};   ///< without the module, in place of them
    std::string how{};       ///< for the user
    std::uint64_t rate = 0;  ///< of actions: that of their clock
};

/// Whether the clock of actions has been one all the time.
class ClockWatch {
  public:
    explicit ClockWatch(std::uint64_t rate) : rate_(rate) {}

    /// Throws Error: what has been measured so far may be wrong.
    void check() const;
    /// The time stamp counter may run on in sleep, or begin anew.
    void tell_of_sleep() const;

  private:
    std::uint64_t rate_;  // 0: it is not the clock
    std::int64_t asleep_ = time_asleep();
};

class LatencyMeasurement : public Measurement {
  public:
    /// Attaches, and says so. The symbolizer outlives it. Throws Error, also where a stop is
    /// requested meanwhile.
    LatencyMeasurement(const LatencyOptions& options, Symbolizer& symbolizer,
                       const StopSignals& stop);

    std::string results(std::size_t most) override;
    void stop() override;
    /// The same for people.
    [[nodiscard]] std::string table(std::size_t most) const;
    /// For metrics, while it measures.
    [[nodiscard]] Summary snapshot();
    /// Once it is stopped.
    [[nodiscard]] Summary& summary() { return summary_; }

  private:
    [[nodiscard]] LatencyResults read() const;

    Symbolizer& symbolizer_;
    LatencyStyle style_;
    std::optional<Device> device_;
    Measuring measuring_;
    ClockWatch clock_;
    Summary summary_;
};

}  // namespace djprobe::loader
