// SPDX-License-Identifier: GPL-2.0
// Where results go: to stdout, and into a report.
#pragma once

#include <vector>

#include "base/output.h"
#include "report/report.h"
#include "trace/results.h"
#include "trace/table.h"

namespace djprobe::loader {

class ResultsSink {
  public:
    /// `report`: none, or it takes them, too. `prints_between`: also before the end.
    ResultsSink(TableStyle style, std::size_t top, bool prints_between, Report* report);

    /// The largest first. `is_last`: at the end.
    void take(std::vector<Result> results, bool is_last, Output& output);
    /// How many it takes of the largest.
    [[nodiscard]] std::size_t most() const;
    [[nodiscard]] const TableStyle& style() const { return style_; }

  private:
    TableStyle style_;
    std::size_t top_;
    bool prints_between_;
    Report* report_;
};

}  // namespace djprobe::loader
