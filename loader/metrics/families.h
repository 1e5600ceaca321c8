// SPDX-License-Identifier: GPL-2.0
// A session's numbers as metrics of Prometheus.
#pragma once

#include <prometheus/metric_family.h>

#include <vector>

#include "session/summary.h"

namespace djprobe::loader {

/// The counters of the probes and events, what was measured, and each number in the maps and
/// variables of the program.
/// Prometheus keeps numbers as doubles: those above 2^53 lose their last digits.
std::vector<prometheus::MetricFamily> metric_families(const Summary& summary);

}  // namespace djprobe::loader
