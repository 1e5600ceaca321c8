// SPDX-License-Identifier: GPL-2.0
// A tool's cost on a workload, with its probes by the kernel and by djprobe.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/unit.h"
#include "run/ledger.h"

namespace djprobe::loader {

struct ToolBench {
    std::string workload;
    Unit unit;
    std::vector<double> without;  ///< nanoseconds of each run of the workload: without the tool,
    std::vector<double> kernel;   ///< with its probes by the kernel,
    std::vector<double> ours;     ///< and by djprobe
    RunSums sums;                 ///< of the tool's run by djprobe
    double hits = 0;              ///< by djprobe's probes in one run of the workload
};

/// What a hit costs more than without the tool, in the unit; none where there are no hits.
std::optional<double> cost_per_hit(const ToolBench& bench, const std::vector<double>& times);

std::string tool_bench_text(const ToolBench& bench);
nlohmann::ordered_json tool_bench_json(const ToolBench& bench);

}  // namespace djprobe::loader
