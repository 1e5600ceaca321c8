// SPDX-License-Identifier: GPL-2.0
// How latencies are shown.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "latency/results.h"
#include "session/distribution.h"

namespace djprobe::loader {

/// What a latency is of, and how much of it is shown.
struct LatencyStyle {
    std::string from, to;  ///< the places, as the user wrote them
    LatencyBy by = LatencyBy::kNothing;
    std::size_t top = 20;     ///< so many parts
    bool by_actions = false;  ///< what has measured it; else programs
};

/// A line and a histogram for all, or for each part; then what makes no pair.
std::string latency_text(const LatencyResults& results, const LatencyStyle& style);
/// For metrics: of all, or of each part that is shown.
std::vector<Distribution> latency_distributions(const LatencyResults& results,
                                                const LatencyStyle& style);
/// One line of NDJSON.
std::string latency_json(const LatencyResults& results, const LatencyStyle& style, double elapsed);

}  // namespace djprobe::loader
