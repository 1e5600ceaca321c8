// SPDX-License-Identifier: GPL-2.0
#include "bench/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace djprobe::loader {

double quantile(const std::vector<double>& sorted, double q) {
    const double place = q * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(std::floor(place));
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    const double share = place - static_cast<double>(below);
    return sorted[below] + share * (sorted[above] - sorted[below]);
}

double median(std::vector<double> samples) {
    return spread(std::move(samples)).median;
}

Spread spread(std::vector<double> samples) {
    if (samples.empty()) return {};
    std::ranges::sort(samples);
    return {quantile(samples, 0.5), quantile(samples, 0.25), quantile(samples, 0.75)};
}

}  // namespace djprobe::loader
