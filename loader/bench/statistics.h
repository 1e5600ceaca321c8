// SPDX-License-Identifier: GPL-2.0
// Many samples in few numbers, such that an interrupt in one of them does not show.
#pragma once

#include <vector>

namespace djprobe::loader {

struct Spread {
    double median = 0;
    double q1 = 0;  ///< a quarter of the samples is below
    double q3 = 0;  ///< a quarter is above
};

/// The value below which the share `q` (0..1) of the samples lies, interpolated between neighbours.
/// The samples must be sorted and not empty.
double quantile(const std::vector<double>& sorted, double q);

double median(std::vector<double> samples);
Spread spread(std::vector<double> samples);

}  // namespace djprobe::loader
