// SPDX-License-Identifier: GPL-2.0
// Coverage as lcov writes it (geninfo(1), "FILES"), which genhtml and others read.
#pragma once

#include <string>
#include <vector>

#include "cover/coverage.h"
#include "debuginfo/source_text.h"

namespace djprobe::loader {

/// Files by their path in the source where they are found there. A line that may have run or not is
/// left out.
std::string lcov_text(const std::vector<FunctionCoverage>& functions, const SourceText& source);

}  // namespace djprobe::loader
