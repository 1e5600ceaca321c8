// SPDX-License-Identifier: GPL-2.0
#include "session/distribution.h"

#include <cmath>

namespace djprobe::loader {

Distribution by_powers_of_two(std::span<const std::uint64_t> slots, unsigned first_bits,
                              unsigned most_bits, std::optional<std::uint64_t> negative) {
    Distribution distribution;
    if (negative) {
        distribution.count = *negative;
        distribution.buckets.push_back({-1, *negative});
    }
    for (std::size_t i = 0; i < slots.size(); ++i) {
        distribution.count += slots[i];
        const unsigned bits = first_bits + static_cast<unsigned>(i);
        if (bits <= most_bits)
            distribution.buckets.push_back(
                {std::ldexp(1, static_cast<int>(bits)) - 1, distribution.count});
    }
    return distribution;
}

}  // namespace djprobe::loader
