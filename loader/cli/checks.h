// SPDX-License-Identifier: GPL-2.0
// What options' values must be. Each check returns "" or what is wrong, which CLI11 puts behind the
// option's name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace djprobe::loader {

/// Seconds: a number above 0, at most 10^9, with or without decimals.
std::string positive(const std::string& text);
/// For options of which none means something else than "".
std::string not_empty(const std::string& text);
/// "64K", "1M", "1G" or a number of bytes: of a buffer for events, from a page on.
std::string buffer_size(const std::string& text);
/// What such a text means, up to the next power of two; 0 for none.
std::size_t parse_buffer_size(const std::string& text);
/// A whole number in [least, most].
std::function<std::string(const std::string&)> whole_number(std::uint64_t least,
                                                            std::uint64_t most);

}  // namespace djprobe::loader
