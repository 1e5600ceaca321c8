// SPDX-License-Identifier: GPL-2.0
// Results as a table, JSON, CSV or folded stacks.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "trace/columns.h"
#include "trace/field.h"
#include "trace/results.h"

namespace djprobe::loader {

struct TableStyle {
    Style style = Style::kColumns;
    bool folded = false;
    Aggregation::Kind kind = Aggregation::Kind::kCount;
    bool is_signed = false;
    std::vector<Field> keys{};       ///< also where there are no results
    std::string unit{};              ///< of the values; "" for none
    bool colours = false;            ///< of columns
    std::optional<Linear> linear{};  ///< of a histogram: by equal steps
};

/// Histograms are drawn, stacks have lines of their own. JSON is one line. Folded: a line for each
/// stack, outermost frame first, as flame graphs take them.
std::string table_text(const std::vector<Result>& results, const TableStyle& style);

/// The same as an array of JSON; and how the results are called there: "count", "sum", "hist".
nlohmann::ordered_json results_json(const std::vector<Result>& results, const TableStyle& style);
std::string results_name(const TableStyle& style);

}  // namespace djprobe::loader
