// SPDX-License-Identifier: GPL-2.0
#include "run/summary.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>
#include <vector>

#include "base/plural.h"
#include "session/probe_words.h"

namespace djprobe::loader {
namespace {

using Reasons = std::map<std::string, std::size_t>;

std::size_t count_of(const Reasons& reasons) {
    return std::accumulate(reasons.begin(), reasons.end(), std::size_t{0},
                           [](std::size_t sum, const auto& reason) { return sum + reason.second; });
}

// "short-region 2, overlap 1", the most frequent first.
std::string words_of(const Reasons& reasons) {
    std::vector<std::pair<std::string, std::size_t>> sorted(reasons.begin(), reasons.end());
    std::ranges::stable_sort(sorted,
                             [](const auto& a, const auto& b) { return a.second > b.second; });
    std::string words;
    for (const auto& [reason, count] : sorted)
        words += fmt::format("{}{} {}", words.empty() ? "" : ", ", reason, count);
    return words;
}

std::string missed_words(const RunSums& sums) {
    Reasons causes;
    for (std::size_t kind = 0; kind < std::size(sums.missed); ++kind)
        if (sums.missed[kind]) causes[miss_name(kind)] = sums.missed[kind];
    return causes.empty() ? "0" : fmt::format("{} ({})", count_of(causes), words_of(causes));
}

}  // namespace

std::string run_text(const RunSums& sums) {
    std::string text = fmt::format("{} by djprobe: {} by jump, {} by int3",
                                   plural(sums.jumps + sums.int3s + sums.unarmed, "probe"),
                                   sums.jumps, sums.int3s);
    if (!sums.int3_reasons.empty()) text += fmt::format(" ({})", words_of(sums.int3_reasons));
    if (sums.unarmed) text += fmt::format(", {} not in the text", sums.unarmed);
    if (sums.exact || sums.shadow)
        text += fmt::format("; at returns {} exact, {} by shadow", sums.exact, sums.shadow);
    text += fmt::format("; hits {}, missed {}\n", sums.hits, missed_words(sums));
    if (sums.by_kernel.empty()) return text;
    return text + fmt::format("{} by the kernel: {}\n", plural(count_of(sums.by_kernel), "probe"),
                              words_of(sums.by_kernel));
}

nlohmann::ordered_json run_json(const RunSums& sums) {
    nlohmann::ordered_json json;
    json["type"] = "run";
    json["jump"] = sums.jumps;
    json["int3"] = sums.int3s;
    json["int3_reasons"] = sums.int3_reasons;
    json["disarmed"] = sums.unarmed;
    json["exact_returns"] = sums.exact;
    json["shadow_returns"] = sums.shadow;
    json["hits"] = sums.hits;
    json["missed"] = nlohmann::ordered_json::object();
    for (std::size_t kind = 0; kind < DJPROBE_MISS_KINDS; ++kind)
        json["missed"][miss_name(kind)] = sums.missed[kind];
    json["by_kernel"] = sums.by_kernel;
    return json;
}

}  // namespace djprobe::loader
