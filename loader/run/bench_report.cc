// SPDX-License-Identifier: GPL-2.0
#include "run/bench_report.h"

#include <fmt/core.h>

#include "base/plural.h"
#include "bench/statistics.h"
#include "run/summary.h"

namespace djprobe::loader {
namespace {

std::string time_text(const Unit& unit, double ns) {
    if (unit.instructions) return fmt::format("{:.0f}", unit.from_ns(ns));
    return fmt::format("{:.3f} ms", ns / 1e6);
}

std::string row(const ToolBench& bench, const char* name, const std::vector<double>& times) {
    const Spread all = spread(times);
    const auto hit = &times == &bench.without ? std::nullopt : cost_per_hit(bench, times);
    return fmt::format("{:<24}{:>14}  ({}..{})  {:>8}\n", name, time_text(bench.unit, all.median),
                       time_text(bench.unit, all.q1), time_text(bench.unit, all.q3),
                       hit ? fmt::format("{:.{}f}", *hit, bench.unit.instructions ? 0 : 1) : "-");
}

// Under the kernel's cost there may be nothing but noise.
std::optional<double> ratio_of(const ToolBench& bench) {
    const auto kernel = cost_per_hit(bench, bench.kernel);
    const auto ours = cost_per_hit(bench, bench.ours);
    if (!kernel || !ours || *kernel <= 0) return std::nullopt;
    return *ours / *kernel;
}

}  // namespace

std::optional<double> cost_per_hit(const ToolBench& bench, const std::vector<double>& times) {
    if (bench.hits < 1) return std::nullopt;
    return bench.unit.from_ns(median(times) - median(bench.without)) / bench.hits;
}

std::string tool_bench_text(const ToolBench& bench) {
    std::string text = fmt::format("workload: {}\nhits of djprobe's probes in one run: {:.0f}\n\n",
                                   bench.workload, bench.hits);
    text += fmt::format("{:<24}{:>14}  (quartiles of {})  {} per hit\n", "THE TOOL'S PROBES",
                        "ONE RUN", plural(bench.ours.size(), "run"), bench.unit.name());
    text += row(bench, "none: no tool", bench.without);
    text += row(bench, "by the kernel", bench.kernel);
    text += row(bench, "by djprobe", bench.ours);
    const auto ratio = ratio_of(bench);
    text += ratio ? fmt::format("\na hit costs {:.2f} of what it costs by the kernel\n", *ratio)
            : bench.hits < 1
                ? "\nthe workload does not hit the tool's probes: name one that does by -c\n"
                : "\nthe workload is too short to tell: name a longer one by -c\n";
    return text + "\n" + run_text(bench.sums);
}

nlohmann::ordered_json tool_bench_json(const ToolBench& bench) {
    nlohmann::ordered_json json;
    json["type"] = "run_bench";
    json["workload"] = bench.workload;
    json["unit"] = bench.unit.name();
    json["runs"] = bench.ours.size();
    json["hits"] = bench.hits;
    const auto add = [&](const char* name, const std::vector<double>& times) {
        json[name] = bench.unit.from_ns(median(times));
    };
    add("without", bench.without);
    add("kernel", bench.kernel);
    add("djprobe", bench.ours);
    const auto or_null = [](std::optional<double> value) {
        return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
    };
    json["kernel_per_hit"] = or_null(cost_per_hit(bench, bench.kernel));
    json["djprobe_per_hit"] = or_null(cost_per_hit(bench, bench.ours));
    json["probes"] = run_json(bench.sums);
    return json;
}

}  // namespace djprobe::loader
