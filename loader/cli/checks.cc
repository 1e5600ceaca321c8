// SPDX-License-Identifier: GPL-2.0
#include "cli/checks.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <limits>

#include "kernel/site_spec.h"

namespace djprobe::loader {

std::string positive(const std::string& text) {
    double value = 0;
    const bool ok = CLI::detail::lexical_cast(text, value) && value > 0 && std::isfinite(value);
    return ok ? "" : fmt::format("'{}' is not a number above 0", text);
}

std::string not_empty(const std::string& text) {
    return text.empty() ? "it is empty: leave it out, or say which" : "";
}

std::function<std::string(const std::string&)> whole_number(std::uint64_t least,
                                                            std::uint64_t most) {
    return [=](const std::string& text) -> std::string {
        const auto number = parse_unsigned(text);
        if (number && *number >= least && *number <= most) return "";
        if (most == std::numeric_limits<std::uint64_t>::max())
            return fmt::format("'{}' is not a whole number from {} on", text, least);
        return fmt::format("'{}' is not a whole number from {} to {}", text, least, most);
    };
}

}  // namespace djprobe::loader
