// SPDX-License-Identifier: GPL-2.0
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/plural.h"
#include "bench/report.h"
#include "bench/statistics.h"

namespace djprobe::loader {
namespace {

using Row = std::vector<std::string>;

std::string number(const BenchReport& report, double value) {
    return report.unit.instructions ? fmt::format("{:.0f}", value) : fmt::format("{:.1f}", value);
}

std::string value_text(const BenchReport& report, const BenchCase& one) {
    if (!one.unavailable.empty() || one.per_hit.empty()) return "-";
    const Spread all = spread(one.per_hit);
    return fmt::format("{} ({}..{})", number(report, all.median), number(report, all.q1),
                       number(report, all.q3));
}

bool same_row(const BenchCase& a, const BenchCase& b) {
    return a.mechanism == b.mechanism && a.site.name == b.site.name;
}

std::string head(const BenchReport& report) {
    std::vector<double> baselines;
    for (const BenchCase& one : report.cases) {
        if (one.mechanism->mechanism != BenchMechanism::kRawTracepoint)
            baselines.insert(baselines.end(), one.baseline.begin(), one.baseline.end());
    }
    const std::string clock =
        report.unit.instructions
            ? fmt::format("instructions: the clock counts {:.4g} ns for each, as under -icount",
                          report.unit.ns_per_instruction)
            : "ns";
    return fmt::format(
        "{} calls {}, kernel {}, CPU {}\n"
        "unit: {}\n"
        "per hit: median (quartiles) of {} of {} of {}, less the same call "
        "without a probe ({})\n",
        report.workload, report.function, report.kernel, report.cpu, clock,
        plural(report.rounds, "round"), plural(report.blocks.blocks, "block"),
        plural(report.blocks.calls, "call"), number(report, median(baselines)));
}

std::vector<Row> rows_of(const BenchReport& report) {
    // The bodies in their order, those that were asked for.
    Row first = {"SITE", "MECHANISM", "PLACE", "SEEN"};
    std::vector<Body> bodies;
    for (const Body body : kBodies) {
        if (std::ranges::none_of(report.cases, [=](const auto& one) { return one.body == body; }))
            continue;
        bodies.push_back(body);
        first.emplace_back(body_name(body));
    }
    std::vector<Row> rows = {first};
    const BenchCase* current = nullptr;
    for (const BenchCase& one : report.cases) {
        if (current == nullptr || !same_row(*current, one)) {
            rows.push_back({one.site.name, one.mechanism->name, place_of(*one.mechanism, one.site),
                            one.seen.empty() ? "-" : one.seen});
            rows.back().resize(first.size(), "-");
            current = &one;
        }
        const auto column = std::ranges::find(bodies, one.body) - bodies.begin();
        rows.back()[4 + static_cast<std::size_t>(column)] = value_text(report, one);
    }
    return rows;
}

std::string align(const std::vector<Row>& rows) {
    std::vector<std::size_t> widths(rows.front().size(), 0);
    for (const Row& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i)
            widths[i] = std::max(widths[i], row[i].size());
    }
    std::string text;
    for (const Row& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i)
            line += fmt::format("{:<{}}  ", row[i], widths[i]);
        text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
    }
    return text;
}

// One line for all programs of a row that fail for the same reason.
std::string reasons(const BenchReport& report) {
    std::string text;
    const BenchCase* last = nullptr;
    for (const BenchCase& one : report.cases) {
        if (one.unavailable.empty()) continue;
        if (last && same_row(*last, one) && last->unavailable == one.unavailable) continue;
        text += fmt::format("no {} at {}: {}\n", one.mechanism->name,
                            place_of(*one.mechanism, one.site), one.unavailable);
        last = &one;
    }
    return text;
}

}  // namespace

std::string report_table(const BenchReport& report) {
    std::string text = head(report) + '\n' + align(rows_of(report));
    const std::string missing = reasons(report);
    if (!missing.empty()) text += '\n' + missing;
    return text;
}

}  // namespace djprobe::loader
