// SPDX-License-Identifier: GPL-2.0
// Counts by reason, and how summaries show them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "../../arch/x86/insn/reason.h"

namespace djprobe::loader {

/// Indexed by the number of the reason; the last one holds all that are larger.
using ReasonTable = std::array<std::uint64_t, 128>;

constexpr std::size_t reason_slot(std::uint64_t reason) {
    return std::min<std::uint64_t>(reason, ReasonTable{}.size() - 1);
}
constexpr std::size_t reason_slot(Reason reason) {
    return reason_slot(static_cast<std::uint64_t>(reason));
}
const char* reason_name_of(std::size_t slot);

template <class Array>
std::uint64_t sum(const Array& array) {
    return std::accumulate(array.begin(), array.end(), std::uint64_t{0});
}

/// Reasons that occurred, the most frequent first.
std::vector<std::size_t> by_frequency(const ReasonTable& counts);

/// Name, number and share of the whole, in columns.
std::string summary_line(int indent, const std::string& name, std::uint64_t count,
                         std::uint64_t whole);
double percent(std::uint64_t part, std::uint64_t whole);
/// The most frequent first.
nlohmann::ordered_json reasons_json(const ReasonTable& counts);

}  // namespace djprobe::loader
