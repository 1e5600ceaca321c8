// SPDX-License-Identifier: GPL-2.0
#include "count/count_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>
#include <utility>

#include "session/probe_words.h"
#include "session/site_names.h"

namespace djprobe::loader {

void Counts::look(const std::vector<AttachmentReport>& reports) {
    all_.clear();
    total_ = 0;
    for (const AttachmentReport& report : reports)
        for (const ProbeState& probe : report.probes) {
            std::uint64_t& last = last_[probe.cookie];
            total_ += probe.hits;
            if (probe.hits)
                all_.push_back({probe, report.covers == Covers::kGlob, probe.hits - last});
            last = probe.hits;
        }
    std::ranges::stable_sort(
        all_, [](const Counted& a, const Counted& b) { return a.probe.hits > b.probe.hits; });
}

std::vector<Counted> Counts::top(std::size_t most, Symbolizer& symbolizer) const {
    std::vector<Counted> top(
        all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(std::min(most, all_.size())));
    std::vector<ProbeState> named;
    named.reserve(top.size());
    for (const Counted& one : top)
        named.push_back(one.probe);
    name_gone(symbolizer.kallsyms(), named);
    for (std::size_t i = 0; i < top.size(); ++i)
        top[i].probe = named[i];
    return top;
}

std::string counted_name(const Counted& one) {
    const std::string site = site_name(one.probe);
    return one.by_name ? site.substr(0, site.rfind("+0x")) : site;
}

namespace {

// At how many places something of this name is.
std::unordered_map<std::string, std::set<std::uint64_t>> places_named(
    const std::vector<Counted>& top) {
    std::unordered_map<std::string, std::set<std::uint64_t>> places;
    for (const Counted& one : top)
        places[counted_name(one)].insert(one.probe.address);
    return places;
}

}  // namespace

std::string count_table(const std::vector<Counted>& top, double seconds) {
    std::string text = seconds > 0
                           ? fmt::format("{:>14} {:>12}  {}\n", "COUNT", "PER SECOND", "SITE")
                           : fmt::format("{:>14}  {}\n", "COUNT", "SITE");
    const auto places = places_named(top);
    for (const Counted& one : top) {
        const std::string name = counted_name(one);
        text += fmt::format("{:>14} ", one.probe.hits);
        if (seconds > 0)
            text += fmt::format("{:>12.0f} ", static_cast<double>(one.fresh) / seconds);
        text += " " + name;
        // Several functions may have one name. 0: the kernel hides it.
        if (places.at(name).size() > 1 && one.probe.address != 0)
            text += fmt::format(" ({:#x})", one.probe.address);
        text += '\n';
    }
    return text;
}

std::string count_json(const std::vector<Counted>& top, std::uint64_t total, double elapsed) {
    nlohmann::ordered_json json;
    json["type"] = "counts";
    json["seconds"] = elapsed;
    json["total"] = total;
    json["top"] = nlohmann::ordered_json::array();
    for (const Counted& one : top) {
        nlohmann::ordered_json row{{"site", counted_name(one)}};
        if (one.probe.address != 0) row["address"] = fmt::format("{:#x}", one.probe.address);
        row["count"] = one.probe.hits;
        row["new"] = one.fresh;
        json["top"].push_back(std::move(row));
    }
    return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace djprobe::loader
