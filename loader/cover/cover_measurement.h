// SPDX-License-Identifier: GPL-2.0
// What `probeload cover` measures: which blocks of functions have run.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/stop_signals.h"
#include "blocks/block_counters.h"
#include "blocks/chosen_functions.h"
#include "blocks/line_counts.h"
#include "cover/cover_options.h"
#include "cover/coverage.h"
#include "debuginfo/source_text.h"
#include "kernel/device.h"
#include "kernel/symbolizer.h"
#include "session/measurement.h"

namespace djprobe::loader {

class CoverMeasurement : public Measurement {
  public:
    /// Attaches, and says so. The symbolizer outlives it. Throws Error, also where a stop is
    /// requested meanwhile.
    CoverMeasurement(const CoverOptions& options, Symbolizer& symbolizer, const StopSignals& stop);

    std::string results(std::size_t most) override;
    void stop() override;
    /// For people: a line for each function.
    [[nodiscard]] std::string table() const;
    /// Each block or line of each function.
    [[nodiscard]] std::string annotated();
    [[nodiscard]] std::string lcov();
    [[nodiscard]] std::string pcs() const;

  private:
    [[nodiscard]] std::vector<FunctionCoverage> look() const;

    Symbolizer& symbolizer_;
    Device device_;
    ChosenFunctions chosen_;
    SourceText source_;
    std::vector<FunctionLines> lines_;  // empty where lines are not wanted
    BlockCounters counters_;
    bool is_stopped_ = false;
};

}  // namespace djprobe::loader
