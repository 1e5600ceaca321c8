// SPDX-License-Identifier: GPL-2.0
// What really stands in a function's text. The kernel says [OPTIMIZED] before the jump is there,
// and a link is gone before the last byte is back: only the text itself tells.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kernel/kcore.h"

namespace djprobe::loader {

/// The first byte of a function that is not as it was.
struct Patch {
    std::uint64_t offset;
    std::uint8_t opcode;

    bool operator==(const Patch&) const = default;
    /// "int3 +0x9"
    [[nodiscard]] std::string str() const;
};

/// The first difference of two texts of the same length.
std::optional<Patch> first_patch(const std::vector<std::uint8_t>& original,
                                 const std::vector<std::uint8_t>& now);

/// Opcodes as the mechanisms write them.
inline constexpr std::uint8_t kOpInt3 = 0xcc;
inline constexpr std::uint8_t kOpJump = 0xe9;
inline constexpr std::uint8_t kOpShortJump = 0xeb;
inline constexpr std::uint8_t kOpCall = 0xe8;

class TextWatch {
  public:
    using Duration = std::chrono::milliseconds;

    /// The function as it is now is the original.
    TextWatch(const Kcore& text, std::uint64_t address, std::size_t size);

    [[nodiscard]] std::optional<Patch> patch() const;
    /// Until the text is as `wanted` wants it, or the time is over; what it was at last.
    std::optional<Patch> wait(const std::function<bool(std::optional<Patch>)>& wanted,
                              Duration limit) const;
    [[nodiscard]] std::uint64_t address() const noexcept { return address_; }
    [[nodiscard]] const std::vector<std::uint8_t>& original() const noexcept { return original_; }

  private:
    const Kcore& text_;
    std::uint64_t address_;
    std::vector<std::uint8_t> original_;
};

}  // namespace djprobe::loader
