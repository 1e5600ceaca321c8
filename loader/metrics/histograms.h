// SPDX-License-Identifier: GPL-2.0
// Distributions as histograms of Prometheus.
#pragma once

#include <prometheus/metric_family.h>

#include <vector>

#include "session/distribution.h"

namespace djprobe::loader {

/// Times as djprobe_latency_seconds, values as djprobe_value; a family may have no sample. Its sum
/// is NaN where none is known: the library writes one always, and a number would be a wrong mean.
std::vector<prometheus::MetricFamily> histogram_families(
    const std::vector<Distribution>& distributions);

}  // namespace djprobe::loader
