// SPDX-License-Identifier: GPL-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/plural.h"
#include "survey/counts.h"
#include "survey/survey.h"
#include "survey/words.h"

namespace djprobe::loader {
namespace {

using Json = nlohmann::ordered_json;
}  // namespace

std::string summary_text(const SurveyCounts& counts, const std::string& kernel) {
    const std::uint64_t probeable = counts.probeable();
    const std::uint64_t sites = probeable + counts.refusals();
    std::string text = fmt::format("{}: {} in {}\n", kernel, plural(sites, "site"),
                                   plural(counts.functions, "function"));
    text += summary_line(0, "probeable", probeable, sites);
    text += "of these\n";
    text += summary_line(2, "jump", counts.jumps(), probeable);
    for (std::size_t i = 0; i < counts.tactics.size(); ++i)
        text +=
            summary_line(4, tactic_name(static_cast<x86::Tactic>(i)), counts.tactics[i], probeable);
    text += summary_line(2, "int3", counts.int3s(), probeable);
    for (const std::size_t reason : by_frequency(counts.int3)) {
        text += summary_line(4, reason_name_of(reason), counts.int3[reason], probeable);
        if (static_cast<djprobe::Reason>(reason) != djprobe::Reason::REGION_RESERVED) continue;
        for (const std::size_t inner : by_frequency(counts.int3_inner))
            text += summary_line(6, reason_name_of(inner), counts.int3_inner[inner], probeable);
    }
    text += summary_line(0, "refused", counts.refusals(), sites);
    for (const std::size_t reason : by_frequency(counts.refused))
        text += summary_line(4, reason_name_of(reason), counts.refused[reason], sites);
    text += fmt::format("mainline would jump at {:.2f}% of the probeable sites\n",
                        percent(counts.mainline[0], probeable));
    text += fmt::format("of {} sites that the kernel's kprobes accept {:.2f}% get a jump\n",
                        counts.accepted, percent(counts.accepted_jumps, counts.accepted));
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
    json["kprobes_accept"] = counts.accepted;
    json["kprobes_accept_jump"] = counts.accepted_jumps;
    return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace djprobe::loader
