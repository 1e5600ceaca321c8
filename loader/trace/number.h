// SPDX-License-Identifier: GPL-2.0
// Numbers as C writes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace djprobe::loader {

struct Number {
    std::uint64_t value;
    bool is_wide;  ///< of 64 bits
    bool is_signed;
};

/// "42", "0x2a", "052", "0b101010", with u and l behind it, or 'a'. None for what C has no type
/// for.
std::optional<Number> parse_number(std::string_view text);

}  // namespace djprobe::loader
