// SPDX-License-Identifier: GPL-2.0
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "survey/survey.h"
#include "survey/words.h"

namespace djprobe::loader {
namespace {

using Json = nlohmann::ordered_json;
using Counts = std::array<std::uint64_t, SurveyCounts::kReasons>;

double percent(std::uint64_t part, std::uint64_t whole) {
    return whole ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0;
}

/// Reasons that occurred, the most frequent first.
std::vector<std::size_t> by_frequency(const Counts& counts) {
    std::vector<std::size_t> reasons;
    for (std::size_t i = 0; i < counts.size(); ++i)
        if (counts[i]) reasons.push_back(i);
    std::ranges::stable_sort(reasons, [&](auto a, auto b) { return counts[a] > counts[b]; });
    return reasons;
}

const char* name_of(std::size_t reason) {
    return djprobe::reason_name(static_cast<djprobe::Reason>(reason));
}

std::string line(int indent, const std::string& name, std::uint64_t count, std::uint64_t whole) {
    return fmt::format("{:{}}{:<{}}{:>9} {:>7.3f}%\n", "", indent, name, 32 - indent, count,
                       percent(count, whole));
}

Json reasons_json(const Counts& counts) {
    Json json = Json::object();
    for (const std::size_t reason : by_frequency(counts))
        json[name_of(reason)] = counts[reason];
    return json;
}

}  // namespace

std::string summary_text(const SurveyCounts& counts, const std::string& kernel) {
    const std::uint64_t probeable = counts.probeable();
    const std::uint64_t sites = probeable + counts.refusals();
    std::string text =
        fmt::format("{}: {} sites in {} functions\n", kernel, sites, counts.functions);
    text += line(0, "probeable", probeable, sites);
    text += "of these\n";
    text += line(2, "jump", counts.jumps(), probeable);
    for (std::size_t i = 0; i < counts.tactics.size(); ++i)
        text += line(4, tactic_name(static_cast<x86::Tactic>(i)), counts.tactics[i], probeable);
    text += line(2, "int3", counts.int3s(), probeable);
    for (const std::size_t reason : by_frequency(counts.int3)) {
        text += line(4, name_of(reason), counts.int3[reason], probeable);
        if (static_cast<djprobe::Reason>(reason) != djprobe::Reason::REGION_RESERVED) continue;
        for (const std::size_t inner : by_frequency(counts.int3_inner))
            text += line(6, name_of(inner), counts.int3_inner[inner], probeable);
    }
    text += line(0, "refused", counts.refusals(), sites);
    for (const std::size_t reason : by_frequency(counts.refused))
        text += line(4, name_of(reason), counts.refused[reason], sites);
    text += fmt::format("mainline would jump at {:.2f}% of the probeable sites\n",
                        percent(counts.mainline[0], probeable));
    return text;
}

std::string summary_json(const SurveyCounts& counts, const std::string& kernel) {
    Json json;
    json["type"] = "summary";
    json["kernel"] = kernel;
    json["functions"] = counts.functions;
    json["sites"] = counts.probeable() + counts.refusals();
    json["probeable"] = counts.probeable();
    json["jump"] = counts.jumps();
    json["int3"] = counts.int3s();
    json["refused"] = counts.refusals();
    for (std::size_t i = 0; i < counts.tactics.size(); ++i)
        json["tactics"][tactic_name(static_cast<x86::Tactic>(i))] = counts.tactics[i];
    json["int3_reasons"] = reasons_json(counts.int3);
    json["region_reserved_reasons"] = reasons_json(counts.int3_inner);
    json["refused_reasons"] = reasons_json(counts.refused);
    for (std::size_t i = 0; i < counts.mainline.size(); ++i)
        json["mainline"][mainline_name(static_cast<MainlineVerdict::Kind>(i))] = counts.mainline[i];
    return json.dump() + "\n";
}

}  // namespace djprobe::loader
