// SPDX-License-Identifier: GPL-2.0
#include "count/slots.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.h"
#include "count/condition.h"
#include "decode/histogram.h"
#include "kernel/possible_cpus.h"

namespace djprobe::loader {
namespace {

// Each has a second counter behind it, of what was not compared.
constexpr std::size_t kGreatest = DJPROBE_LOG2_SLOTS, kLeast = kGreatest + 2;

std::vector<Bar> bars_of(const std::vector<std::uint64_t>& slots) {
    std::vector<Bar> bars;
    for (std::size_t i = 0; i < slots.size(); ++i) {
        const std::uint64_t from = i == 0 ? 0 : std::uint64_t{1} << (i - 1);
        bars.push_back({from, i == 0 ? 0 : from + (from - 1), slots[i]});
    }
    return bars;
}

nlohmann::json number(std::uint64_t value, bool is_signed) {
    if (is_signed) return static_cast<std::int64_t>(value);
    return value;
}

}  // namespace

std::vector<djprobe_action> slot_actions(const Operand& operand) {
    std::vector<djprobe_action> actions;
    for (const auto operation : {DJPROBE_ACTION_LOG2, DJPROBE_ACTION_MAX, DJPROBE_ACTION_MIN})
        actions.push_back(action_of(operation, operand));
    actions[1].offset = kGreatest * sizeof(std::uint64_t);
    actions[2].offset = kLeast * sizeof(std::uint64_t);
    return actions;
}

bool has_sign(const std::vector<djprobe_action>& slot_actions) {
    return (slot_actions.back().flags & DJPROBE_ACTION_SIGNED) != 0;
}

std::uint64_t Slots::total() const {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

Slots add_slots(std::span<const std::uint64_t> cpus, bool is_signed) {
    Slots slots;
    slots.is_signed = is_signed;
    // What the counters hold begins with 0, and grows.
    std::uint64_t greatest = 0, least = 0;
    for (; !cpus.empty(); cpus = cpus.subspan(kSlotCounters)) {
        for (std::size_t i = 0; i < slots.counts.size(); ++i)
            slots.counts[i] += cpus[i];
        greatest = std::max(greatest, cpus[kGreatest]);
        least = std::max(least, cpus[kLeast]);
        slots.uncompared += cpus[kGreatest + 1] + cpus[kLeast + 1];
    }
    const std::uint64_t turn = is_signed ? std::uint64_t{1} << 63U : 0;
    slots.greatest = greatest ^ turn;
    slots.least = ~least ^ turn;
    return slots;
}

Slots read_slots(int map, bool is_signed) {
    const std::uint32_t key = 0;
    std::vector<std::uint64_t> all(possible_cpus() * kSlotCounters);
    if (bpf_map_lookup_elem(map, &key, all.data()) != 0)
        fail(ExitCode::kFailure, "reading the histogram: {}", std::strerror(errno));
    return add_slots(all, is_signed);
}

// A number below 0 is in the last slot.
Distribution slots_distribution(const Slots& slots) {
    std::vector<std::uint64_t> counts = slots.counts;
    if (!slots.is_signed) return by_powers_of_two(counts, 0, kMostValueBits);
    const std::uint64_t negative = counts.back();
    counts.pop_back();
    return by_powers_of_two(counts, 0, kMostValueBits, negative);
}

std::string slots_text(const Slots& slots) {
    if (slots.total() == 0) return "";
    std::string text = draw_bars(bars_of(slots.counts));
    if (slots.is_signed)
        text += fmt::format("min {}, max {}", static_cast<std::int64_t>(slots.least),
                            static_cast<std::int64_t>(slots.greatest));
    else
        text += fmt::format("min {}, max {}", slots.least, slots.greatest);
    if (slots.uncompared != 0) text += fmt::format(", {} not compared", slots.uncompared);
    return text + "\n";
}

std::string slots_json(const Slots& slots, double elapsed) {
    nlohmann::ordered_json json;
    json["type"] = "histogram";
    json["seconds"] = elapsed;
    json["total"] = slots.total();
    if (slots.total() != 0) {
        json["min"] = number(slots.least, slots.is_signed);
        json["max"] = number(slots.greatest, slots.is_signed);
        json["uncompared"] = slots.uncompared;
    }
    json["slots"] = nlohmann::ordered_json::array();
    for (const Bar& bar : bars_of(slots.counts))
        if (bar.count != 0)
            json["slots"].push_back({{"from", bar.from}, {"to", bar.to}, {"count", bar.count}});
    return json.dump() + "\n";
}

}  // namespace djprobe::loader
