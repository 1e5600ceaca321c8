// SPDX-License-Identifier: GPL-2.0
// Counters in the blocks of functions: as few as say how often each block runs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/stop_signals.h"
#include "base/unique_fd.h"
#include "blocks/flow.h"
#include "blocks/function_flow.h"
#include "kernel/device.h"
#include "kernel/task_filter.h"

namespace djprobe::loader {

/// What is known of one function's blocks.
struct BlockCounts {
    std::vector<Count> counts;
    std::vector<std::size_t> unbalanced;  ///< see Flow::unbalanced()
};

/// Which blocks have a counter.
enum class BlocksCounted {
    kFewest,  ///< those from which the others follow
    kAll,
    kOnce,  ///< all, until they have run: the counts say whether, not how often
};

struct CountingRules {
    BlocksCounted counting = BlocksCounted::kFewest;
    djprobe_mode mode = DJPROBE_MODE_AUTO;
    TaskFilter tasks{};  ///< only hits of these
};

/// Lives until it is destroyed, as its probes do.
class BlockCounters {
  public:
    /// Throws Error: no block can be counted, or a stop was requested.
    BlockCounters(const std::vector<FunctionFlow>& functions, const CountingRules& rules,
                  const Device& device, Symbolizer& symbolizer, const StopSignals& stop);

    /// Takes the probes out of the text; their counts stay.
    void disable() const;
    /// Since it was made, with what follows from the counters; with kOnce the counters alone.
    [[nodiscard]] std::vector<BlockCounts> look() const;
    [[nodiscard]] djprobe_total total() const { return probe_->total(); }
    /// Which blocks of a function have a counter of their own.
    [[nodiscard]] std::vector<bool> counted(std::size_t function) const;

  private:
    struct Function {
        const FunctionFlow* flow;
        Flow balance;
        std::vector<std::optional<CountPlace>> places;      // what is left of the flow's
        std::vector<std::optional<std::size_t>> counter{};  // of each block, if it is counted
    };

    std::vector<ManySite> choose(const StopSignals& stop);
    /// These sites take no probe.
    void give_up(const std::vector<RefusedSite>& refused);
    /// Attaches to those that are not refused, some at a time.
    void attach_most(const std::vector<ManySite>& sites, AttachRequest request,
                     std::vector<RefusedSite>& refused, const Device& device,
                     Symbolizer& symbolizer, const StopSignals& stop);
    void attach(const CountingRules& rules, const Device& device, Symbolizer& symbolizer,
                const StopSignals& stop);

    BlocksCounted counting_;
    std::vector<Function> functions_;
    UniqueFd map_;
    std::optional<Probe> probe_;
    // How the counters stood when all had come to be. With kOnce: not looked at, for a counter that
    // has left by then does not come back.
    std::vector<std::uint64_t> first_;
};

}  // namespace djprobe::loader
