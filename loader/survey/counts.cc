// SPDX-License-Identifier: GPL-2.0
#include "survey/counts.h"

#include <fmt/format.h>

namespace djprobe::loader {

const char* reason_name_of(std::size_t slot) {
    return djprobe::reason_name(static_cast<djprobe::Reason>(slot));
}

double percent(std::uint64_t part, std::uint64_t whole) {
    return whole ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0;
}

std::vector<std::size_t> by_frequency(const ReasonTable& counts) {
    std::vector<std::size_t> reasons;
    for (std::size_t i = 0; i < counts.size(); ++i)
        if (counts[i]) reasons.push_back(i);
    std::ranges::stable_sort(reasons, [&](auto a, auto b) { return counts[a] > counts[b]; });
    return reasons;
}

std::string summary_line(int indent, const std::string& name, std::uint64_t count,
                         std::uint64_t whole) {
    return fmt::format("{:{}}{:<{}}{:>9} {:>7.3f}%\n", "", indent, name, 32 - indent, count,
                       percent(count, whole));
}

nlohmann::ordered_json reasons_json(const ReasonTable& counts) {
    nlohmann::ordered_json json = nlohmann::ordered_json::object();
    for (const std::size_t reason : by_frequency(counts))
        json[reason_name_of(reason)] = counts[reason];
    return json;
}

}  // namespace djprobe::loader
