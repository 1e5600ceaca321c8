// SPDX-License-Identifier: GPL-2.0
// A comparison as a table, as JSON and as a picture.
#pragma once

#include <string>

#include "bench/compare.h"

namespace djprobe::loader {

/// Lines for people: what was measured how, a row for each mechanism and site with the median and
/// the quartiles of each program, and why the rest was not measured.
std::string report_table(const BenchReport& report);

/// NDJSON: an object for each mechanism, program and site, then a summary.
std::string report_json(const BenchReport& report);

/// An SVG with horizontal bars, a panel for each program and site, cheapest first. It follows the
/// viewer's light or dark scheme and has no background of its own.
std::string report_svg(const BenchReport& report);

}  // namespace djprobe::loader
