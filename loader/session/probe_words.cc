// SPDX-License-Identifier: GPL-2.0
#include "session/probe_words.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace djprobe::loader {
namespace {

constexpr std::array<const char*, DJPROBE_MISS_KINDS> kMissNames = DJPROBE_MISS_NAMES;
constexpr std::array<const char*, 3> kMechanisms = {"none", "int3", "jump"};
constexpr std::array<const char*, 6> kStates = {"disarmed",  "armed",     "optimizing",
                                                "optimized", "unknown-4", "gone"};

template <std::size_t N>
std::string name_in(const std::array<const char*, N>& names, std::uint32_t index) {
    return index < N ? names[index] : fmt::format("unknown-{}", index);
}

}  // namespace

std::string state_name(const ProbeState& probe) {
    return name_in(kStates, probe.state);
}

std::string mechanism_name(const ProbeState& probe) {
    return name_in(kMechanisms, probe.mechanism);
}

std::string miss_name(std::size_t kind) {
    return kind < kMissNames.size() ? kMissNames[kind] : fmt::format("cause-{}", kind);
}

std::string site_name(const ProbeState& probe) {
    // The probe was gone before the loader asked for its names.
    if (probe.symbol.empty()) return fmt::format("{:#x}", probe.address);
    return fmt::format("{}{}{}+{:#x}", probe.module, probe.module.empty() ? "" : ":", probe.symbol,
                       probe.offset);
}

std::vector<const ProbeState*> top_probes(const AttachmentReport& report) {
    std::vector<const ProbeState*> top;
    for (const ProbeState& probe : report.probes)
        if (probe.hits) top.push_back(&probe);
    std::ranges::stable_sort(
        top, [](const ProbeState* a, const ProbeState* b) { return a->hits > b->hits; });
    top.resize(std::min(top.size(), report.top));
    return top;
}

ReasonCounts int3_reasons(const AttachmentReport& report) {
    ReasonCounts reasons;
    for (const ProbeState& probe : report.probes)
        if (probe.mechanism == DJPROBE_MECHANISM_INT3 && probe.reason != DJPROBE_REASON_NONE)
            ++reasons[probe.reason];
    return reasons;
}

std::vector<std::pair<std::uint32_t, std::size_t>> by_frequency(const ReasonCounts& reasons) {
    std::vector<std::pair<std::uint32_t, std::size_t>> sorted(reasons.begin(), reasons.end());
    std::ranges::stable_sort(sorted,
                             [](const auto& a, const auto& b) { return a.second > b.second; });
    return sorted;
}

}  // namespace djprobe::loader
