// SPDX-License-Identifier: GPL-2.0
#include "blocks/count_words.h"

#include <fmt/core.h>

#include <algorithm>

namespace djprobe::loader {

std::string count_text(const Count& count) {
    return count ? fmt::format("{}", *count) : "?";
}

std::string count_bar(const Count& count, std::uint64_t most) {
    if (!count || !*count) return "";
    const double eighths = static_cast<double>(*count) / static_cast<double>(most) * 8;
    return std::string(std::max<std::size_t>(1, static_cast<std::size_t>(eighths)), '#');
}

nlohmann::ordered_json count_json(const Count& count) {
    return count ? nlohmann::ordered_json(*count) : nlohmann::ordered_json();
}

std::string json_line(const nlohmann::ordered_json& json) {
    return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace djprobe::loader
