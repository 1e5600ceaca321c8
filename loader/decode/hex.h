// SPDX-License-Identifier: GPL-2.0
// Bytes as hexadecimal digits.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/output.h"

namespace djprobe::loader {

inline void append_hex_byte(Buffer& out, std::uint8_t byte) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    out.push_back(kDigits[byte >> 4]);
    out.push_back(kDigits[byte & 15]);
}

}  // namespace djprobe::loader
