// SPDX-License-Identifier: GPL-2.0
#include "metrics/histograms.h"

#include <algorithm>
#include <limits>

#include "metrics/family.h"

namespace djprobe::loader {
namespace {

using prometheus::MetricType;

// Names of labels are letters, digits and underlines.
std::string label_name(const std::string& text) {
    std::string name = text;
    std::ranges::replace_if(
        name,
        [](unsigned char letter) {
            return (letter < '0' || letter > '9') && (letter < 'A' || letter > 'Z') &&
                   (letter < 'a' || letter > 'z');
        },
        '_');
    return name;
}

prometheus::ClientMetric::Histogram histogram_of(const Distribution& distribution) {
    const bool times = distribution.unit == Distribution::Unit::kNanoseconds;
    // Prometheus' unit of time is the second. To divide is exact to the last digit, to multiply is
    // not.
    const double unit = times ? 1e9 : 1;
    prometheus::ClientMetric::Histogram histogram;
    histogram.sample_count = distribution.count;
    histogram.sample_sum =
        distribution.sum ? *distribution.sum / unit : std::numeric_limits<double>::quiet_NaN();
    for (const auto& [value, count] : distribution.buckets)
        histogram.bucket.push_back({count, value / unit});
    return histogram;
}

}  // namespace

std::vector<prometheus::MetricFamily> histogram_families(
    const std::vector<Distribution>& distributions) {
    Family times("djprobe_latency_seconds", "Times between two places.", MetricType::Histogram);
    Family values("djprobe_value", "Values at a place.", MetricType::Histogram);
    for (const Distribution& distribution : distributions) {
        Labels labels;
        for (const auto& [name, value] : distribution.labels)
            add_label(label_name(name), value, labels);
        Family& family = distribution.unit == Distribution::Unit::kNanoseconds ? times : values;
        family.add(std::move(labels), histogram_of(distribution));
    }
    return {times.take(), values.take()};
}

}  // namespace djprobe::loader
