// SPDX-License-Identifier: GPL-2.0
#include "metrics/families.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>

#include "metrics/family.h"
#include "metrics/histograms.h"
#include "session/probe_words.h"

namespace djprobe::loader {
namespace {

using Json = nlohmann::ordered_json;
using prometheus::MetricFamily;
using prometheus::MetricType;

/// Longer ones are tables, whose elements are no time series that one wants.
constexpr std::size_t kLongestArray = 256;

Labels with(Labels labels, const char* name, std::string value) {
    labels.push_back({name, std::move(value)});
    return labels;
}

bool is_at_return(const AttachmentReport& report) {
    if (report.covers != Covers::kSite)
        return report.covers == Covers::kReturns || report.at_returns;
    return (report.probes.front().flags & DJPROBE_ATTACH_RETURN) != 0;
}

// A pattern is one series: which of its sites are hit most changes all the time.
Labels labels_of(const AttachmentReport& report) {
    const bool site = report.covers == Covers::kSite;
    return {{"program", report.program},
            {"site", site ? site_name(report.probes.front()) : report.name},
            {"at", is_at_return(report) ? "return" : "entry"}};
}

struct ProbeFamilies {
    Family hits{"djprobe_hits_total", "How often the program ran, or was to run.",
                MetricType::Counter};
    Family missed{"djprobe_missed_total", "Hits that did not run the program.",
                  MetricType::Counter};
    Family probes{"djprobe_probes", "Probes in the kernel's text.", MetricType::Gauge};

    void add_report(const AttachmentReport& report) {
        const Labels labels = labels_of(report);
        const bool site = report.covers == Covers::kSite;
        const ProbeState* const first = site ? &report.probes.front() : nullptr;
        hits.add(labels, static_cast<double>(first ? first->hits : report.total.hits));
        for (std::size_t kind = 0; kind < DJPROBE_MISS_KINDS; ++kind)
            missed.add(
                with(labels, "cause", miss_name(kind)),
                static_cast<double>(first ? first->missed[kind] : report.total.missed[kind]));
        for (const auto& [name, mechanism] : kMechanisms)
            probes.add(with(labels, "mechanism", name),
                       static_cast<double>(std::ranges::count(report.probes, __u32{mechanism},
                                                              &ProbeState::mechanism)));
    }

    // The kernel counts the runs of a program, not of each place.
    void add_kernel_report(const KernelReport& report) {
        const Labels labels = {{"program", report.program},
                               {"site", report.places},
                               {"at", report.at_returns ? "return" : "entry"}};
        if (report.hits) hits.add(labels, static_cast<double>(*report.hits));
        missed.add(with(labels, "cause", "kernel"), static_cast<double>(report.missed));
        probes.add(with(labels, "mechanism", report.mechanism), static_cast<double>(report.probes));
    }

    static constexpr std::array<std::pair<const char*, djprobe_mechanism>, 3> kMechanisms = {
        {{"jump", DJPROBE_MECHANISM_JUMP},
         {"int3", DJPROBE_MECHANISM_INT3},
         {"none", DJPROBE_MECHANISM_NONE}}};
};

std::string text_of(const Json& value) {
    return value.is_string() ? value.get<std::string>() : value.dump();
}

// The key's members are labels of their own: "key_pid", or "key".
void add_key(const Json& key, std::string name, Labels& labels) {
    if (!key.is_object()) {
        return add_label(std::move(name), text_of(key), labels);
    }
    for (const auto& [member, value] : key.items())
        add_key(value, fmt::format("{}_{}", name, member), labels);
}

// Each number within the value, whose path is the label "field".
void add_numbers(const Json& value, const std::string& path, const Labels& labels, Family& to) {
    if (value.is_number())
        return to.add(path.empty() ? labels : with(labels, "field", path), value.get<double>());
    if (value.is_array() && value.size() > kLongestArray) return;
    if (value.is_array())
        for (std::size_t i = 0; i < value.size(); ++i)
            add_numbers(value[i], fmt::format("{}[{}]", path, i), labels, to);
    if (value.is_object())
        for (const auto& [member, inner] : value.items())
            add_numbers(inner, path.empty() ? member : fmt::format("{}.{}", path, member), labels,
                        to);
}

MetricFamily map_family(const Summary& summary) {
    Family maps("djprobe_map", "Numbers in the program's maps.", MetricType::Untyped);
    for (const MapEntry& entry : summary.maps.entries) {
        Labels labels = {{"map", entry.map}};
        add_key(entry.key, "key", labels);
        add_numbers(entry.value, "", labels, maps);
    }
    return maps.take();
}

MetricFamily variable_family(const Summary& summary) {
    Family variables("djprobe_variable", "The program's global variables that are not 0.",
                     MetricType::Untyped);
    for (const Variable& variable : summary.variables)
        add_numbers(variable.value, "", {{"name", variable.name}}, variables);
    return variables.take();
}

MetricFamily one_number(const char* name, const char* help, std::uint64_t value) {
    Family family(name, help, MetricType::Counter);
    family.add({}, static_cast<double>(value));
    return family.take();
}

void add_events(const Summary& summary, std::vector<MetricFamily>& families) {
    if (!summary.loss) return;
    families.push_back(
        one_number("djprobe_events_total", "Events that probeload received.", summary.received));
    // A bound would count what is no event at all.
    if (summary.loss->exact)
        families.push_back(one_number("djprobe_events_lost_total", "Events that found no room.",
                                      *summary.loss->exact));
}

}  // namespace

std::vector<MetricFamily> metric_families(const Summary& summary) {
    ProbeFamilies probes;
    for (const AttachmentReport& report : summary.attachments)
        probes.add_report(report);
    for (const KernelReport& report : summary.kernel)
        probes.add_kernel_report(report);
    std::vector<MetricFamily> families = {probes.hits.take(), probes.missed.take(),
                                          probes.probes.take()};
    add_events(summary, families);
    std::ranges::move(histogram_families(summary.distributions), std::back_inserter(families));
    families.push_back(variable_family(summary));
    families.push_back(map_family(summary));
    std::erase_if(families, [](const MetricFamily& family) { return family.metric.empty(); });
    return families;
}

}  // namespace djprobe::loader
