// SPDX-License-Identifier: GPL-2.0
// Whether the time stamp counter is a clock, and how fast it ticks: as the kernel says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace djprobe::loader {

/// Nanoseconds of a tick, times 2^32: the rate that the kernel has measured, by which it computes
/// CLOCK_MONOTONIC_RAW. None unless the counter is what the kernel's clock is read from, and its
/// scheduler's: so all CPUs count alike, at one rate, also in idle. The kernel goes to another
/// clock once it sees that this is not so. Then `why_not` says what its clock is.
std::optional<std::uint64_t> tsc_rate(std::string& why_not);

/// How long the machine has been asleep since it was booted, in nanoseconds.
std::int64_t time_asleep();

}  // namespace djprobe::loader
