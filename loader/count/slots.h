// SPDX-License-Identifier: GPL-2.0
// The counters of a histogram, and how they are shown.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace djprobe::loader {

/// DJPROBE_LOG2_SLOTS of them, summed over all CPUs: the first ones of the value under key 0.
/// Throws Error.
std::vector<std::uint64_t> read_slots(int map);

/// Bars, from the first slot to the last that is not empty; "" if all are.
std::string slots_text(const std::vector<std::uint64_t>& slots);
/// One line of NDJSON; empty slots are left out.
std::string slots_json(const std::vector<std::uint64_t>& slots, double elapsed);

}  // namespace djprobe::loader
