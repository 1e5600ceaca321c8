// SPDX-License-Identifier: GPL-2.0
#include "count/slots.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.h"
#include "decode/histogram.h"
#include "djprobe_action.h"

namespace djprobe::loader {
namespace {

std::vector<Bar> bars_of(const std::vector<std::uint64_t>& slots) {
    std::vector<Bar> bars;
    for (std::size_t i = 0; i < slots.size(); ++i) {
        const std::uint64_t from = i == 0 ? 0 : std::uint64_t{1} << (i - 1);
        bars.push_back({from, i == 0 ? 0 : from + (from - 1), slots[i]});
    }
    return bars;
}

}  // namespace

std::vector<std::uint64_t> read_slots(int map) {
    const std::uint32_t key = 0;
    std::vector<std::uint64_t> slots(DJPROBE_LOG2_SLOTS);
    std::vector<std::uint64_t> all(static_cast<std::size_t>(libbpf_num_possible_cpus()) *
                                   slots.size());
    if (bpf_map_lookup_elem(map, &key, all.data()) != 0)
        fail(ExitCode::kFailure, "reading the histogram: {}", std::strerror(errno));
    for (std::size_t i = 0; i < all.size(); ++i)
        slots[i % slots.size()] += all[i];
    return slots;
}

std::string slots_text(const std::vector<std::uint64_t>& slots) {
    return draw_bars(bars_of(slots));
}

std::string slots_json(const std::vector<std::uint64_t>& slots, double elapsed) {
    nlohmann::ordered_json json;
    json["type"] = "histogram";
    json["seconds"] = elapsed;
    json["total"] = std::accumulate(slots.begin(), slots.end(), std::uint64_t{0});
    json["slots"] = nlohmann::ordered_json::array();
    for (const Bar& bar : bars_of(slots))
        if (bar.count != 0)
            json["slots"].push_back({{"from", bar.from}, {"to", bar.to}, {"count", bar.count}});
    return json.dump() + "\n";
}

}  // namespace djprobe::loader
