// SPDX-License-Identifier: GPL-2.0
// What only a terminal understands, and nowhere else.
#pragma once

#include <string>
#include <string_view>

namespace djprobe::loader {

/// True for a terminal that is not "dumb": it takes control sequences.
bool takes_sequences(int fd);
/// True for a terminal that shows them, unless NO_COLOR is set (no-color.org).
bool takes_colours(int fd);

inline constexpr std::string_view kBold = "\x1b[1m", kDim = "\x1b[2m", kCyan = "\x1b[36m";

/// The text between the colour and its end.
std::string coloured(std::string_view colour, std::string_view text);

}  // namespace djprobe::loader
