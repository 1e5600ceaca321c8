// SPDX-License-Identifier: GPL-2.0
// The counters of a histogram, and how they are shown.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "count/operand.h"
#include "djprobe_action.h"
#include "session/distribution.h"

namespace djprobe::loader {

/// What a histogram's actions keep of an operand, in the counters from the first one on.
std::vector<djprobe_action> slot_actions(const Operand& operand);
inline constexpr std::size_t kSlotActions = 3;
inline constexpr std::size_t kSlotCounters = DJPROBE_LOG2_SLOTS + 4;
/// Whether they take the operand for a number with a sign.
bool has_sign(const std::vector<djprobe_action>& slot_actions);

/// Of all CPUs.
struct Slots {
    std::vector<std::uint64_t> counts = std::vector<std::uint64_t>(DJPROBE_LOG2_SLOTS);
    std::uint64_t least = ~std::uint64_t{0}, greatest = 0;
    bool is_signed = false;        ///< the least and the greatest are
    std::uint64_t uncompared = 0;  ///< of these values it is not known whether they were one

    [[nodiscard]] std::uint64_t total() const;
};

/// Those of the value under key 0. Throws Error.
Slots read_slots(int map, bool is_signed);
/// From the counters of each CPU, one behind the other.
Slots add_slots(std::span<const std::uint64_t> cpus, bool is_signed);

/// For metrics; the sum is not known.
Distribution slots_distribution(const Slots& slots);
/// Bars, from the first slot to the last that is not empty, and the least and the greatest value;
/// "" if there was none.
std::string slots_text(const Slots& slots);
/// One line of NDJSON; empty slots are left out.
std::string slots_json(const Slots& slots, double elapsed);

}  // namespace djprobe::loader
