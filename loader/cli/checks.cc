// SPDX-License-Identifier: GPL-2.0
#include "cli/checks.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>
#include <limits>
#include <string_view>

#include "kernel/site_spec.h"

namespace djprobe::loader {

std::string positive(const std::string& text) {
    double value = 0;
    constexpr double kMost = 1e9;  // 31 years: clocks can still be added to
    if (!CLI::detail::lexical_cast(text, value) || !(value > 0))
        return fmt::format("'{}' is not a number of seconds above 0", text);
    return value <= kMost ? "" : fmt::format("'{}' is more than {:.0f} seconds", text, kMost);
}

std::string not_empty(const std::string& text) {
    return text.empty() ? "it is empty: leave it out, or say which" : "";
}

std::size_t parse_buffer_size(const std::string& text) {
    constexpr std::uint64_t kLeast = 4096, kMost = std::uint64_t{1} << 30;
    constexpr std::string_view kUnits = "KMG";
    const std::size_t unit = text.empty() ? kUnits.npos : kUnits.find(text.back());
    const bool has_unit = unit != kUnits.npos;
    const auto number = parse_unsigned(text.substr(0, text.size() - (has_unit ? 1 : 0)));
    if (!number || *number == 0 || *number > kMost) return 0;
    const std::uint64_t bytes = has_unit ? *number << 10 * (unit + 1) : *number;
    return bytes <= kMost ? std::bit_ceil(std::max(bytes, kLeast)) : 0;
}

std::string buffer_size(const std::string& text) {
    if (parse_buffer_size(text) != 0) return "";
    return fmt::format("'{}' is not a size up to 1G, as 64K or 1M", text);
}

std::function<std::string(const std::string&)> whole_number(std::uint64_t least,
                                                            std::uint64_t most) {
    return [=](const std::string& text) -> std::string {
        const auto number = parse_unsigned(text);
        if (number && *number >= least && *number <= most) return "";
        if (most == std::numeric_limits<std::uint64_t>::max())
            return fmt::format("'{}' is no whole number of 64 bits from {} on", text, least);
        return fmt::format("'{}' is not a whole number from {} to {}", text, least, most);
    };
}

}  // namespace djprobe::loader
