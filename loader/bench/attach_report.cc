// SPDX-License-Identifier: GPL-2.0
#include <fmt/core.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/plural.h"
#include "bench/attach_cost.h"
#include "bench/statistics.h"

namespace djprobe::loader {
namespace {

struct Column {
    const char* title;
    const char* key;
    double AttachRound::*value;
};
constexpr Column kColumns[] = {
    {"ATTACHED", "attach", &AttachRound::attach}, {"IN THE TEXT", "in_text", &AttachRound::in_text},
    {"DETACHED", "detach", &AttachRound::detach}, {"OUT OF IT", "out", &AttachRound::out},
    {"WORK", "work", &AttachRound::work},
};

double median_of(const AttachReport& report, const std::vector<AttachRound>& rounds,
                 double AttachRound::*value) {
    std::vector<double> values;
    values.reserve(rounds.size());
    for (const AttachRound& round : rounds)
        values.push_back(report.unit.from_ns(round.*value));
    return median(values);
}

}  // namespace

std::string attach_table(const AttachReport& report) {
    std::string text = fmt::format(
        "{}, kernel {}, in thousands of {}, medians of {}\n\n{:18}", plural(report.probes, "probe"),
        report.kernel, report.unit.name(), plural(report.ours.size(), "round"), "MECHANISM");
    for (const Column& column : kColumns)
        text += fmt::format(" {:>12}", column.title);
    const auto row = [&](const char* name, const std::vector<AttachRound>& rounds) {
        text += fmt::format("\n{:18}", name);
        for (const Column& column : kColumns)
            text += fmt::format(" {:>12.0f}", median_of(report, rounds, column.value) / 1000);
    };
    row("djprobe", report.ours);
    row("kprobe-optimized", report.kernels);
    text += fmt::format("\n{:18}", "ratio");
    for (const Column& column : kColumns)
        text += fmt::format(" {:>11.1f}x", median_of(report, report.kernels, column.value) /
                                               median_of(report, report.ours, column.value));
    return text + '\n';
}

std::string attach_json(const AttachReport& report) {
    std::string text;
    const auto row = [&](const char* name, const std::vector<AttachRound>& rounds) {
        nlohmann::ordered_json json;
        json["type"] = "attach";
        json["mechanism"] = name;
        json["probes"] = report.probes;
        json["unit"] = report.unit.name();
        for (const Column& column : kColumns)
            json[column.key] = std::round(median_of(report, rounds, column.value));
        json["rounds"] = rounds.size();
        text += json.dump() + '\n';
    };
    row("djprobe", report.ours);
    row("kprobe-optimized", report.kernels);
    return text;
}

}  // namespace djprobe::loader
