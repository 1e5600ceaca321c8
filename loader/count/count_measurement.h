// SPDX-License-Identifier: GPL-2.0
// What `probeload count` and `probeload hist` measure: counters at the entries of functions and at
// instructions, or a histogram's.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/stop_signals.h"
#include "base/unique_fd.h"
#include "count/count_options.h"
#include "count/count_table.h"
#include "count/counting.h"
#include "djprobe_action.h"
#include "kernel/device.h"
#include "session/measurement.h"
#include "session/summary.h"

namespace djprobe::loader {

class CountMeasurement : public Measurement {
  public:
    /// Attaches, and says so. The symbolizer outlives it. Throws Error, also where a stop is
    /// requested meanwhile.
    CountMeasurement(const CountOptions& options, Symbolizer& symbolizer, const StopSignals& stop);

    std::string results(std::size_t most) override;
    void stop() override;
    /// The same for people; rates where `seconds` is not 0: since the last time.
    [[nodiscard]] std::string table(std::size_t most, double seconds);
    /// For metrics, while it counts.
    [[nodiscard]] Summary snapshot() const;
    /// Once it is stopped. Without the probes where nothing of them is known but their counts.
    [[nodiscard]] Summary& summary() { return summary_; }

  private:
    void look();
    [[nodiscard]] std::vector<Distribution> distributions() const;

    CountOptions options_;
    Symbolizer& symbolizer_;
    std::vector<std::vector<djprobe_action>> actions_;
    std::optional<Device> device_;
    UniqueFd map_;
    bool is_signed_ = false;  // the operand of a histogram
    std::unique_ptr<Counting> counting_;
    Counts counts_;
    Summary summary_;
    const std::vector<AttachmentReport>* last_ = nullptr;  // once stopped
};

}  // namespace djprobe::loader
