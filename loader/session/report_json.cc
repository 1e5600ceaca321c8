// SPDX-License-Identifier: GPL-2.0
#include <fmt/core.h>

#include "kernel/reason.h"
#include "session/probe_words.h"

namespace djprobe::loader {
namespace {

using Json = nlohmann::ordered_json;

Json missed_json(const __u64 (&missed)[DJPROBE_MISS_MAX]) {
    Json json = Json::object();
    for (std::size_t kind = 0; kind < DJPROBE_MISS_MAX; ++kind)
        // A newer module's causes have no name here, and mostly do not occur.
        if (kind < DJPROBE_MISS_KINDS || missed[kind] != 0) json[miss_name(kind)] = missed[kind];
    return json;
}

Json reasons_json(const ReasonCounts& reasons) {
    Json json = Json::object();
    for (const auto& [reason, count] : by_frequency(reasons))
        json[reason_name(reason)] = count;
    return json;
}

}  // namespace

Json probe_json(const ProbeState& probe, const std::string& program, Symbolizer& symbolizer) {
    Json json;
    json["kind"] = "site";
    json["site"] = site_name(probe);
    json["address"] = fmt::format("{:#x}", probe.address);
    if (probe.flags & DJPROBE_ATTACH_COUNT) {
        json["counter"] = {{"key", probe.cookie >> 32}, {"offset", probe.cookie & 0xffffffff}};
    } else {
        json["program"] = program;
        json["cookie"] = probe.cookie;
    }
    if (probe.flags & DJPROBE_ATTACH_RETURN)
        json["ret_mode"] = probe.flags & DJPROBE_ATTACH_SHADOW ? "shadow" : "exact";
    if (probe.flags & DJPROBE_ATTACH_FILTERED) json["filtered"] = true;
    json["state"] = state_name(probe);
    json["mechanism"] = mechanism_name(probe);
    if (probe.reason != DJPROBE_REASON_NONE) {
        json["reason"] = reason_name(probe.reason);
        json["reason_text"] = describe_reason(reason_of(probe), symbolizer);
    }
    json["hits"] = probe.hits;
    json["missed"] = missed_json(probe.missed);
    std::string displaced;
    for (std::uint32_t i = 0; i < probe.displaced_len && i < sizeof probe.displaced; ++i) {
        displaced += fmt::format("{:02x}", probe.displaced[i]);
    }
    json["displaced"] = displaced;
    return json;
}

Json report_json(const AttachmentReport& report, Symbolizer& symbolizer) {
    if (report.covers == Covers::kSite)
        return probe_json(report.probes.front(), report.program, symbolizer);
    const bool returns = report.covers == Covers::kReturns;
    Json json;
    const char* const kind = returns ? "function" : "glob";
    json["kind"] = kind;
    json[kind] = report.name;
    if (!report.program.empty()) json["program"] = report.program;
    if (returns) json["ret_mode"] = report.shadow ? "shadow" : "exact";
    if (returns && !report.shadow) json["returns"] = report.probes.size();
    if (!returns) json["functions"] = report.functions;
    if (report.at_returns) {
        json["returns"] = report.probes.size() - report.shadows;
        json["in_shadow_mode"] = report.shadows;
    }
    json["mechanisms"] = {{"jump", 0}, {"int3", 0}};
    for (const ProbeState& probe : report.probes) {
        Json& count = json["mechanisms"][mechanism_name(probe)];
        count = count.is_null() ? 1 : count.get<std::size_t>() + 1;
    }
    json["hits"] = report.total.hits;
    json["missed"] = missed_json(report.total.missed);
    if (returns) {
        json["sites"] = Json::array();
        for (const ProbeState& probe : report.probes)
            json["sites"].push_back(probe_json(probe, report.program, symbolizer));
        return json;
    }
    json["int3_reasons"] = reasons_json(int3_reasons(report));
    json["left_out"] = reasons_json(report.left_out);
    json["top"] = Json::array();
    for (const ProbeState* const probe : top_probes(report))
        json["top"].push_back(probe_json(*probe, report.program, symbolizer));
    return json;
}

}  // namespace djprobe::loader
