// SPDX-License-Identifier: GPL-2.0
#include "latency/latency_options.h"

#include <fmt/format.h>

#include "base/error.h"

namespace djprobe::loader {

Place parse_latency_end(const std::string& text) {
    Place place = text.starts_with("0x") ? Place{parse_address(text), false} : parse_place(text);
    if (place.site.is_glob())
        fail(ExitCode::kUsage,
             "'{}' is a pattern; latency takes one function, trace --latency many", text);
    if (place.at_returns && place.site.offset != 0)
        fail(ExitCode::kUsage, "'{}': returns are those of a function: {}", text,
             place.site.is_counted_from_text() ? place.site.whole_function_advice()
                                               : fmt::format("write {}:return", place.site.symbol));
    return place;
}

LatencyBy parse_latency_by(const std::string& text) {
    if (text == "cpu") return LatencyBy::kCpu;
    if (text == "comm") return LatencyBy::kComm;
    fail(ExitCode::kUsage, "--by: '{}' is neither cpu nor comm", text);
}

}  // namespace djprobe::loader
