// SPDX-License-Identifier: GPL-2.0
// Histograms by powers of two, as libbpf's tools keep them: an array `slots` (or `hist`) whose
// element i counts what is in [2^i, 2^(i+1)), the first one also 0.
#pragma once

#include <bpf/btf.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace djprobe::loader {

/// Where a value of some type has one.
struct Histogram {
    std::string path;  ///< "[1].slots"; "" where the value is the array itself
    std::uint32_t offset;
    std::uint32_t slot_size;  ///< 4 or 8
    std::uint32_t slots;
};

/// Those in a value of this type; `name` is that of the value. Throws Error(kBadFile).
std::vector<Histogram> histograms_in(const btf& btf, std::uint32_t type_id, std::string_view name);

/// How often a value was in [from, to].
struct Bar {
    std::uint64_t from, to, count;
};

/// The same, where the range is no two numbers without a sign.
struct NamedBar {
    std::string from, to;
    std::uint64_t count;
};

/// A line for each from the first to the last that is not empty; "" if all are.
std::string draw_bars(const std::vector<NamedBar>& bars);
std::string draw_bars(const std::vector<Bar>& bars);
/// The same of a histogram's slots.
std::string draw(const Histogram& histogram, std::span<const std::byte> value);

}  // namespace djprobe::loader
