// SPDX-License-Identifier: GPL-2.0
#include "latency/latency_options.h"

#include "base/error.h"

namespace djprobe::loader {

Place parse_latency_end(const std::string& text) {
    constexpr std::string_view kReturn = ":return";
    const bool is_address = text.starts_with("0x");
    const bool at_returns = is_address && text.ends_with(kReturn);
    const std::string address = text.substr(0, text.size() - (at_returns ? kReturn.size() : 0));
    Place place = is_address ? Place{parse_address(address), at_returns} : parse_place(text);
    if (place.site.is_glob())
        fail(ExitCode::kUsage,
             "'{}' is a pattern; latency takes one function, trace --latency many", text);
    if (place.at_returns && place.site.offset != 0 && !place.site.is_counted_from_text())
        fail(ExitCode::kUsage, "'{}': returns are those of a function: write {}:return", text,
             place.site.symbol);
    return place;
}

LatencyBy parse_latency_by(const std::string& text) {
    if (text == "cpu") return LatencyBy::kCpu;
    if (text == "comm") return LatencyBy::kComm;
    fail(ExitCode::kUsage, "--by: '{}' is neither cpu nor comm", text);
}

}  // namespace djprobe::loader
