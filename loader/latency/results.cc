// SPDX-License-Identifier: GPL-2.0
#include "latency/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace djprobe::loader {

void Times::add(const latency_times& part) {
    const std::uint64_t fresh =
        std::accumulate(std::begin(part.slots), std::end(part.slots), std::uint64_t{0});
    if (fresh == 0) return;
    const std::uint64_t part_least = ~part.inverted_least;
    least = pairs == 0 ? part_least : std::min(least, part_least);
    most = std::max<std::uint64_t>(most, part.most);
    sum += part.sum;
    pairs += fresh;
    for (std::size_t i = 0; i < slots.size(); ++i)
        slots[i] += part.slots[i];
}

LatencyResults add_up(std::span<const latency_seen> cpus) {
    LatencyResults results;
    std::uint64_t begins = 0;
    for (const latency_seen& cpu : cpus) {
        results.all.add(cpu.all);
        begins += cpu.begins;
        results.unpaired.again += cpu.again;
        results.unpaired.unbegun += cpu.unbegun;
        results.unpaired.missed_begins += cpu.missed_begins;
        results.unpaired.missed_ends += cpu.missed_ends;
        results.unnamed += cpu.unnamed;
    }
    // While the programs run, a CPU's end may be read and another one's begin not yet.
    const std::uint64_t followed = results.all.pairs + results.unpaired.again;
    results.unpaired.unended = begins - std::min(begins, followed);
    return results;
}

// A slot of actions has zero for itself.
latency_seen seen_of(const latency_counted& cpu) {
    latency_seen seen = {};
    seen.all.sum = cpu.sum;
    seen.all.most = cpu.most;
    seen.all.inverted_least = cpu.inverted_least;
    seen.all.slots[0] = cpu.slots[0];
    for (std::size_t i = 0; i < LATENCY_SLOTS; ++i)
        seen.all.slots[i] += cpu.slots[i + 1];
    seen.begins = cpu.begins + cpu.again;
    seen.again = cpu.again;
    seen.unbegun = cpu.unbegun;
    seen.missed_begins = cpu.missed_begins;
    seen.missed_ends = cpu.missed_ends;
    return seen;
}

std::uint64_t uncompared_of(std::span<const latency_counted> cpus) {
    std::uint64_t uncompared = 0;
    for (const latency_counted& cpu : cpus)
        uncompared += cpu.most_uncompared + cpu.least_uncompared;
    return uncompared;
}

LatencyResults add_up_by_cpu(std::span<const latency_seen> cpus) {
    LatencyResults results = add_up(cpus);
    for (std::size_t i = 0; i < cpus.size(); ++i) {
        TimesOf part{fmt::to_string(i), {}};
        part.times.add(cpus[i].all);
        if (part.times.pairs != 0) results.parts.push_back(std::move(part));
    }
    sort_parts(results.parts);
    return results;
}

void sort_parts(std::vector<TimesOf>& parts) {
    std::ranges::stable_sort(
        parts, [](const TimesOf& a, const TimesOf& b) { return a.times.pairs > b.times.pairs; });
}

}  // namespace djprobe::loader
