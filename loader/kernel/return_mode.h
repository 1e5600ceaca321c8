// SPDX-License-Identifier: GPL-2.0
// How probes see a function return.
#pragma once

#include <cstdint>
#include <vector>

#include "djprobe.h"

namespace djprobe::loader {

/// How the module learns of returns.
enum class ReturnMode {
    kAuto,    ///< exact where the function has only returns of its own
    kExact,   ///< probes at them
    kShadow,  ///< the return address is replaced at the entry
};

// In the module's words.
inline constexpr std::uint32_t kExact = DJPROBE_ATTACH_RETURN;
inline constexpr std::uint32_t kShadow = DJPROBE_ATTACH_RETURN | DJPROBE_ATTACH_SHADOW;

/// What to try, the better one first.
inline std::vector<std::uint32_t> return_ways(ReturnMode mode) {
    switch (mode) {
        case ReturnMode::kExact:
            return {kExact};
        case ReturnMode::kShadow:
            return {kShadow};
        case ReturnMode::kAuto:
            break;
    }
    return {kExact, kShadow};
}

}  // namespace djprobe::loader
