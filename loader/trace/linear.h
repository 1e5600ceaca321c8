// SPDX-License-Identifier: GPL-2.0
// A histogram of equal steps in place of powers of two: "count:linear(0,4096,16)".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace djprobe::loader {

/// Values from `from` up to below `to`, in so many steps; those outside are counted by themselves.
struct Linear {
    std::int64_t from = 0;
    std::int64_t to = 0;
    std::uint32_t slots = 0;

    [[nodiscard]] std::uint64_t step() const;
    /// The least and the largest value of a slot.
    [[nodiscard]] std::int64_t least(std::size_t slot) const;
    [[nodiscard]] std::int64_t most(std::size_t slot) const;
    /// "linear(0,4096,16)"
    [[nodiscard]] std::string str() const;
};

/// Takes ":linear(a,b,n)" from the end of an expression. Throws Error(kUsage) with a caret where it
/// is none.
std::optional<Linear> take_linear(std::string& expression);

}  // namespace djprobe::loader
