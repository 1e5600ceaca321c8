// SPDX-License-Identifier: GPL-2.0
// What is wrong in a text of the user's, with a caret under it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace djprobe::loader {

/// A part of a text: where it begins, and how long it is.
struct Span {
    std::size_t at = 0;
    std::size_t size = 0;

    [[nodiscard]] std::size_t end() const { return at + size; }
};

/// Throws Error(kUsage): the message, and below it the text with the part underlined.
[[noreturn]] void fail_at(std::string_view text, Span part, const std::string& message);

}  // namespace djprobe::loader
