// SPDX-License-Identifier: GPL-2.0
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/plural.h"
#include "decode/quote.h"
#include "kernel/reason.h"
#include "session/probe_words.h"

namespace djprobe::loader {
namespace {

// Whether the reason says why it is as it is.
bool tells_reason(const ProbeState& probe) {
    return probe.reason != DJPROBE_REASON_NONE && probe.mechanism != DJPROBE_MECHANISM_JUMP &&
           probe.state != DJPROBE_STATE_OPTIMIZING && probe.state != DJPROBE_STATE_GONE;
}

// How a probe works, without the reason.
std::string way_of(const ProbeState& probe) {
    if (probe.state == DJPROBE_STATE_GONE) return "not in the text: its module was unloaded";
    if (probe.mechanism == DJPROBE_MECHANISM_NONE) return "not in the text";
    std::string text = "by " + mechanism_name(probe);
    if (probe.state == DJPROBE_STATE_OPTIMIZING) text += ", the jump is pending";
    return text;
}

std::string way_and_reason(const ProbeState& probe, Symbolizer& symbolizer) {
    std::string text = way_of(probe);
    if (tells_reason(probe)) text += ": " + describe_reason(reason_of(probe), symbolizer);
    return text;
}

// "by jump", or "2 by jump, 1 by int3: REASON". For many functions the reasons are counted: each
// for itself would fill the screen.
std::string ways(const AttachmentReport& report, Symbolizer& symbolizer) {
    const bool many = report.covers == Covers::kGlob;
    std::vector<std::pair<std::string, std::size_t>> counts;
    std::map<std::string, ReasonCounts> reasons;
    for (const ProbeState& probe : report.probes) {
        const std::string way = many ? way_of(probe) : way_and_reason(probe, symbolizer);
        if (many && tells_reason(probe)) ++reasons[way][probe.reason];
        const auto known = std::ranges::find(counts, way, [](auto& count) { return count.first; });
        if (known == counts.end())
            counts.emplace_back(way, 1);
        else
            ++known->second;
    }
    std::ranges::stable_sort(counts,
                             [](const auto& a, const auto& b) { return a.second > b.second; });
    std::vector<std::string> parts;
    for (const auto& [way, count] : counts) {
        parts.push_back(counts.size() == 1 ? way : fmt::format("{} {}", count, way));
        if (const auto told = reasons.find(way); told != reasons.end())
            parts.back() += fmt::format(" ({})", reasons_text(told->second));
    }
    return fmt::format("{}", fmt::join(parts, ", "));
}

std::string missed_causes(const __u64 (&missed)[DJPROBE_MISS_MAX]) {
    std::string causes;
    for (std::size_t kind = 0; kind < DJPROBE_MISS_MAX; ++kind) {
        if (missed[kind] == 0) continue;
        causes += fmt::format("{}{} {}", causes.empty() ? "" : ", ", miss_name(kind), missed[kind]);
    }
    return causes.empty() ? "" : fmt::format(" ({})", causes);
}

std::uint64_t sum(const __u64 (&missed)[DJPROBE_MISS_MAX]) {
    return std::accumulate(std::begin(missed), std::end(missed), std::uint64_t{0});
}

// The attachment in a few words.
std::string what(const AttachmentReport& report) {
    if (report.shadow) return fmt::format("{}: returns in shadow mode", report.name);
    if (report.covers == Covers::kReturns)
        return fmt::format("{}: {}", report.name, plural(report.probes.size(), "return"));
    std::string functions =
        fmt::format("{} like '{}'", plural(report.functions, "function"), report.name);
    if (!report.at_returns) return functions;
    // In shadow mode one probe sees all returns of a function.
    const std::size_t returns = report.probes.size() - report.shadows;
    if (returns == 0) return fmt::format("returns of {} in shadow mode", functions);
    std::string text = fmt::format("{} of {}", plural(returns, "return"), functions);
    if (report.shadows != 0) text += fmt::format(" ({} in shadow mode)", report.shadows);
    return text;
}

// "hits 3, missed 1 (nmi 1)".
std::string counters(std::uint64_t hits, const __u64 (&missed)[DJPROBE_MISS_MAX]) {
    return fmt::format("hits {}, missed {}{}", hits, sum(missed), missed_causes(missed));
}

}  // namespace

std::string probe_line(const ProbeState& probe, Symbolizer& symbolizer) {
    const char* sees = "";
    if (probe.flags & DJPROBE_ATTACH_RETURN)
        sees = probe.flags & DJPROBE_ATTACH_SHADOW ? " (returns)" : " (return)";
    // The name may be what another process has kept of it.
    return fmt::format("{}{}: {}, {}\n", printable_name(site_name(probe)), sees,
                       counters(probe.hits, probe.missed), way_and_reason(probe, symbolizer));
}

std::string reasons_text(const ReasonCounts& reasons) {
    std::string text;
    for (const auto& [reason, count] : by_frequency(reasons))
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", reason_name(reason), count);
    return text;
}

std::string attached_line(const AttachmentReport& report, Symbolizer& symbolizer) {
    if (report.covers == Covers::kSite) {
        const ProbeState& probe = report.probes.front();
        // 0: kptr_restrict hides it.
        const std::string address = probe.address ? fmt::format(" ({:#x})", probe.address) : "";
        const char* const joint = probe.mechanism == DJPROBE_MECHANISM_NONE ? ", " : " ";
        return fmt::format("attached {}{}{}{}", site_name(probe), address, joint,
                           way_and_reason(probe, symbolizer));
    }
    std::string text = fmt::format("attached {}, {}", what(report), ways(report, symbolizer));
    if (report.left_out.empty()) return text;
    const std::size_t left_out = std::accumulate(
        report.left_out.begin(), report.left_out.end(), std::size_t{0},
        [](std::size_t count, const auto& reason) { return count + reason.second; });
    return text + fmt::format("; {} left out: {}", left_out, reasons_text(report.left_out));
}

std::string report_text(const AttachmentReport& report, Symbolizer& symbolizer) {
    if (report.covers == Covers::kSite) return probe_line(report.probes.front(), symbolizer);
    std::string text =
        fmt::format("{}, {}, {}\n", what(report), counters(report.total.hits, report.total.missed),
                    ways(report, symbolizer));
    if (report.covers == Covers::kGlob)
        for (const ProbeState* const probe : top_probes(report))
            text += "  " + probe_line(*probe, symbolizer);
    return text;
}

}  // namespace djprobe::loader
