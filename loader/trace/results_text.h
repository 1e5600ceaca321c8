// SPDX-License-Identifier: GPL-2.0
// The part of a program that keeps results in a map.
#pragma once

#include <string>

#include "trace/plan.h"
#include "trace/question.h"

namespace djprobe::loader {

/// How many powers of two a histogram tells apart.
inline constexpr int kSlots = 64;

/// As on the command line: " --sum 'count' --by 'comm'".
std::string option_text(const Aggregation& aggregation);
/// Types and maps; none of these is indented.
std::string results_text(const Aggregation& aggregation, const TracePlan& plan);
/// The variables of a program.
std::string record_text(const TracePlan& plan);
/// One call's part in its result.
std::string update_text(const Aggregation& aggregation, const TracePlan& plan);

}  // namespace djprobe::loader
