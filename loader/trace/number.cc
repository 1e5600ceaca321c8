// SPDX-License-Identifier: GPL-2.0
#include "trace/number.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace djprobe::loader {
namespace {

struct Suffix {
    bool is_unsigned = false;
    int longs = 0;
};

// Takes it off the text.
std::optional<Suffix> take_suffix(std::string_view& text) {
    Suffix suffix;
    for (; !text.empty(); text.remove_suffix(1)) {
        const char letter = text.back();
        if (letter == 'l' || letter == 'L') {
            if (++suffix.longs > 2) return std::nullopt;
        } else if (letter == 'u' || letter == 'U') {
            if (std::exchange(suffix.is_unsigned, true)) return std::nullopt;
        } else {
            break;
        }
    }
    return suffix;
}

int take_base(std::string_view& text) {
    const auto starts = [&](std::string_view low, std::string_view high) {
        if (!text.starts_with(low) && !text.starts_with(high)) return false;
        text.remove_prefix(2);
        return true;
    };
    if (starts("0x", "0X")) return 16;
    if (starts("0b", "0B")) return 2;
    return text.size() > 1 && text.front() == '0' ? 8 : 10;
}

}  // namespace

std::optional<Number> parse_number(std::string_view text) {
    if (text.starts_with('\'')) return Number{0, false, true};
    const auto suffix = take_suffix(text);
    if (!suffix) return std::nullopt;
    const int base = take_base(text);
    std::uint64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, value, base);
    if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
    // C gives a number the first type that holds it; one in decimal has no sign only by its u.
    const bool may_be_unsigned = suffix->is_unsigned || base != 10;
    const bool may_be_signed = !suffix->is_unsigned;
    if (suffix->longs == 0) {
        if (may_be_signed && value <= INT32_MAX) return Number{value, false, true};
        if (may_be_unsigned && value <= UINT32_MAX) return Number{value, false, false};
    }
    if (may_be_signed && value <= INT64_MAX) return Number{value, true, true};
    if (may_be_unsigned) return Number{value, true, false};
    return std::nullopt;
}

}  // namespace djprobe::loader
