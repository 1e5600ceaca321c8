// SPDX-License-Identifier: GPL-2.0
// How many random lists of actions a test tries.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace djprobe::test {

/// `usual`, or what the environment's DJPROBE_ACTION_LISTS says: a million takes minutes.
inline std::uint64_t random_lists(std::uint64_t usual) {
    const char* const given = std::getenv("DJPROBE_ACTION_LISTS");
    return given ? std::strtoull(given, nullptr, 0) : usual;
}

}  // namespace djprobe::test
