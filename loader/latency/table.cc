// SPDX-License-Identifier: GPL-2.0
#include "latency/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "base/plural.h"
#include "decode/histogram.h"
#include "decode/quote.h"
#include "kernel/site_spec.h"

namespace djprobe::loader {
namespace {

using Json = nlohmann::ordered_json;

std::uint64_t slot_from(std::size_t slot) {
    return slot == 0 ? 0 : std::uint64_t{1} << slot;
}

std::uint64_t slot_to(std::size_t slot) {
    return (std::uint64_t{2} << slot) - 1;
}

std::string bars(const Times& times) {
    std::vector<Bar> bars;
    for (std::size_t i = 0; i < times.slots.size(); ++i)
        bars.push_back({slot_from(i), slot_to(i), times.slots[i]});
    return draw_bars(bars);
}

const char* head_of(LatencyBy by) {
    switch (by) {
        case LatencyBy::kNothing:
            return "";
        case LatencyBy::kCpu:
            return "  CPU";
        case LatencyBy::kComm:
            return "  COMM";
    }
    return "";
}

std::string line(const Times& times, const std::string& key) {
    return fmt::format("{:>14} {:>14} {:>14} {:>14}{}\n", times.pairs, times.mean(), times.least,
                       times.most, key.empty() ? "" : "  " + printable_name(key));
}

std::span<const TimesOf> shown(const LatencyResults& results, const LatencyStyle& style) {
    return std::span(results.parts).first(std::min(style.top, results.parts.size()));
}

std::string parts_text(const LatencyResults& results, const LatencyStyle& style) {
    std::string text;
    for (const TimesOf& part : shown(results, style))
        text += line(part.times, part.key) + bars(part.times);
    if (results.parts.size() > style.top)
        text += fmt::format("{} more: --top shows them\n",
                            plural(results.parts.size() - style.top, "line"));
    if (results.parts.size() > 1) text += line(results.all, "(all)");
    return text;
}

// Each case by itself, also where there is none.
std::string unpaired_text(const LatencyResults& results, LatencyBy by) {
    const Unpaired& unpaired = results.unpaired;
    std::string text = fmt::format("{:>14}  {}\n", "COUNT", "WITHOUT A PAIR");
    const auto add = [&text](std::uint64_t count, const char* what) {
        text += fmt::format("{:>14}  {}\n", count, what);
    };
    add(unpaired.again, "begin again: a later one took its place");
    add(unpaired.unbegun, "end without begin");
    add(unpaired.unended, "begin without end");
    add(unpaired.missed_begins,
        "begin missed: the task's number was above kernel.pid_max at the start");
    add(unpaired.missed_ends, "end missed: the same");
    if (by == LatencyBy::kComm && results.unnamed != 0)
        text += fmt::format("{} in no line above: there is room for {} names\n",
                            plural(results.unnamed, "pair"), LATENCY_COMMS);
    if (results.uncompared != 0)
        text += fmt::format("{} not compared with the least or the greatest\n",
                            plural(results.uncompared, "time"));
    return text;
}

Json slots_json(const Times& times) {
    Json slots = Json::array();
    for (std::size_t i = 0; i < times.slots.size(); ++i)
        if (times.slots[i] != 0)
            slots.push_back(
                {{"from", slot_from(i)}, {"to", slot_to(i)}, {"count", times.slots[i]}});
    return slots;
}

void put(const Times& times, Json& json) {
    json["pairs"] = times.pairs;
    json["sum"] = times.sum;
    json["mean"] = times.mean();
    json["min"] = times.least;
    json["max"] = times.most;
    json["slots"] = slots_json(times);
}

Json parts_json(const LatencyResults& results, const LatencyStyle& style) {
    Json parts = Json::array();
    for (const TimesOf& part : shown(results, style)) {
        Json json;
        if (style.by == LatencyBy::kCpu)
            json["cpu"] = parse_unsigned(part.key).value_or(0);
        else
            json["comm"] = part.key;
        put(part.times, json);
        parts.push_back(std::move(json));
    }
    return parts;
}

Distribution distribution_of(const Times& times, const LatencyStyle& style) {
    Distribution distribution = by_powers_of_two(times.slots, 1, kMostTimeBits);
    distribution.unit = Distribution::Unit::kNanoseconds;
    distribution.labels = {{"from", style.from}, {"to", style.to}};
    distribution.sum = static_cast<double>(times.sum);
    return distribution;
}

}  // namespace

std::vector<Distribution> latency_distributions(const LatencyResults& results,
                                                const LatencyStyle& style) {
    if (style.by == LatencyBy::kNothing) return {distribution_of(results.all, style)};
    std::vector<Distribution> distributions;
    for (const TimesOf& part : shown(results, style)) {
        Distribution distribution = distribution_of(part.times, style);
        distribution.labels.emplace_back(style.by == LatencyBy::kCpu ? "cpu" : "comm", part.key);
        distributions.push_back(std::move(distribution));
    }
    return distributions;
}

std::string latency_text(const LatencyResults& results, const LatencyStyle& style) {
    std::string text = fmt::format("{:>14} {:>14} {:>14} {:>14}{}\n", "PAIRS", "MEAN NS", "MIN NS",
                                   "MAX NS", head_of(style.by));
    text += style.by == LatencyBy::kNothing ? line(results.all, "") + bars(results.all)
                                            : parts_text(results, style);
    return text + unpaired_text(results, style.by);
}

std::string latency_json(const LatencyResults& results, const LatencyStyle& style, double elapsed) {
    Json json;
    json["type"] = "latency";
    json["seconds"] = elapsed;
    json["from"] = style.from;
    json["to"] = style.to;
    json["means"] = style.by_actions ? "actions" : "programs";
    put(results.all, json);
    if (style.by != LatencyBy::kNothing) {
        json["by"] = parts_json(results, style);
        json["unnamed"] = results.unnamed;
    }
    const Unpaired& unpaired = results.unpaired;
    json["again"] = unpaired.again;
    json["unbegun"] = unpaired.unbegun;
    json["unended"] = unpaired.unended;
    json["missed_begins"] = unpaired.missed_begins;
    json["missed_ends"] = unpaired.missed_ends;
    json["uncompared"] = results.uncompared;
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace djprobe::loader
