// SPDX-License-Identifier: GPL-2.0
// A trace's histograms, for metrics.
#pragma once

#include <vector>

#include "session/distribution.h"
#include "trace/question.h"
#include "trace/results.h"
#include "trace/table.h"

namespace djprobe::loader {

/// One for each result: a time is from the function to its return, a value is of an expression at a
/// place. The parts of a result's key are labels.
std::vector<Distribution> distributions_of(const std::vector<Result>& results,
                                           const Question& question, const TableStyle& style);

}  // namespace djprobe::loader
