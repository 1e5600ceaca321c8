// SPDX-License-Identifier: GPL-2.0
// Counted words in messages.
#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <string>

namespace djprobe::loader {

/// "1 return", "3 returns".
inline std::string plural(std::size_t count, const char* word) {
    return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

}  // namespace djprobe::loader
