// SPDX-License-Identifier: GPL-2.0
// How often which values were there, for those who add up on their own.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace djprobe::loader {

struct Distribution {
    /// What the values are.
    enum class Unit { kNone, kNanoseconds };
    /// All values up to this one, counted.
    struct UpTo {
        double value;
        std::uint64_t count;
    };

    Unit unit = Unit::kNone;
    std::vector<std::pair<std::string, std::string>> labels{};
    std::vector<UpTo> buckets{};  ///< the same for each reading, in rising order
    std::uint64_t count = 0;      ///< also of those above the last bucket
    std::optional<double> sum{};  ///< where it is known
};

/// Values of up to 53 bits are doubles without a loss; 36 bits of nanoseconds are 69 seconds.
inline constexpr unsigned kMostValueBits = 53;
inline constexpr unsigned kMostTimeBits = 36;

/// Slots by powers of two: slot i has the values of i + `first_bits` bits, the first one all that
/// have no more. Buckets end at `most_bits`. `negative`: of a number with a sign.
Distribution by_powers_of_two(std::span<const std::uint64_t> slots, unsigned first_bits,
                              unsigned most_bits, std::optional<std::uint64_t> negative = {});

}  // namespace djprobe::loader
