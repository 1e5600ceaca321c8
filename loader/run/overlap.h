// SPDX-License-Identifier: GPL-2.0
// Who has bytes of the text in common, at one place or by way of others.
#pragma once

#include <cstdint>
#include <vector>

namespace djprobe::loader {

/// Bytes of the text, and whose they are. An owner may have several spans.
struct Span {
    std::uint64_t from, to;  ///< `to` is behind the last byte
    std::uint64_t owner;
};

/// The owners whose spans overlap with one of `first`'s, or with one of these owners', and so on:
/// in ascending order, without `first`.
std::vector<std::uint64_t> overlapping_owners(std::vector<Span> spans, std::uint64_t first);

}  // namespace djprobe::loader
