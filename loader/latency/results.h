// SPDX-License-Identifier: GPL-2.0
// What the programs of `probeload latency` have measured, added up.
#pragma once

#include <linux/types.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "latency/bpf/latency.h"

namespace djprobe::loader {

/// Of what there is a histogram each.
enum class LatencyBy { kNothing, kCpu, kComm };

/// Nanoseconds.
struct Times {
    std::uint64_t pairs = 0, sum = 0, least = 0, most = 0;
    std::array<std::uint64_t, LATENCY_SLOTS> slots{};  ///< by powers of two

    void add(const latency_times& part);
    /// 0 without pairs.
    [[nodiscard]] std::uint64_t mean() const { return pairs == 0 ? 0 : sum / pairs; }
};

struct TimesOf {
    std::string key;  ///< "3", "dd"
    Times times;
};

/// Hits that make no pair.
struct Unpaired {
    std::uint64_t again = 0;    ///< begins that another one has followed, without an end between
    std::uint64_t unbegun = 0;  ///< ends without a begin
    std::uint64_t unended = 0;  ///< begins that no end has followed so far
    std::uint64_t missed_begins = 0, missed_ends = 0;  ///< of tasks without a place for their time
};

struct LatencyResults {
    Times all;
    Unpaired unpaired;
    std::uint64_t unnamed = 0;     ///< pairs that no part has
    std::uint64_t uncompared = 0;  ///< how many times may lie outside of least and most
    std::vector<TimesOf> parts{};  ///< those with the most pairs first
};

/// Of all CPUs, in their order.
LatencyResults add_up(std::span<const latency_seen> cpus);
/// What actions have counted, as programs would have.
latency_seen seen_of(const latency_counted& cpu);
/// Times of them that were not compared with the least or the most.
std::uint64_t uncompared_of(std::span<const latency_counted> cpus);
/// The same as add_up(), and a part for each CPU that has seen a pair.
LatencyResults add_up_by_cpu(std::span<const latency_seen> cpus);
/// Those with the most pairs first.
void sort_parts(std::vector<TimesOf>& parts);

}  // namespace djprobe::loader
