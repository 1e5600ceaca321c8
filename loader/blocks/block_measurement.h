// SPDX-License-Identifier: GPL-2.0
// What `probeload count --blocks` and `--lines` measure: how often the blocks of functions run.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/stop_signals.h"
#include "blocks/block_counters.h"
#include "blocks/block_options.h"
#include "blocks/chosen_functions.h"
#include "kernel/device.h"
#include "kernel/symbolizer.h"
#include "session/measurement.h"

namespace djprobe::loader {

/// What the counters of one function say: of its instructions, or of its lines.
class BlockView {
  public:
    BlockView() = default;
    BlockView(const BlockView&) = delete;
    BlockView& operator=(const BlockView&) = delete;
    virtual ~BlockView() = default;
    virtual std::string text(std::size_t function, const BlockCounts& counts) = 0;
    virtual std::string json(std::size_t function, const BlockCounts& counts,
                             const std::vector<bool>& counted) = 0;
};

class BlockMeasurement : public Measurement {
  public:
    /// Attaches, and says so. The symbolizer outlives it. Throws Error, also where a stop is
    /// requested meanwhile.
    BlockMeasurement(const BlockOptions& options, Symbolizer& symbolizer, const StopSignals& stop);

    std::string results(std::size_t most) override;
    void stop() override;
    /// The same line by line: those of a whole kernel would take much memory.
    void each_result(const std::function<void(const std::string&)>& take);
    /// The same for people. Of many functions those that have not run are left out.
    [[nodiscard]] std::string listing();
    /// For people, of what was shown last: how each function was counted, and how many have not
    /// run.
    [[nodiscard]] std::string summary() const;

  private:
    void look() { looks_ = counters_.look(); }
    [[nodiscard]] std::vector<std::size_t> shown() const;

    Device device_;
    ChosenFunctions chosen_;
    std::unique_ptr<BlockView> view_;
    BlockCounters counters_;
    std::vector<BlockCounts> looks_;  // of each function, the last
    bool shows_all_;
};

}  // namespace djprobe::loader
