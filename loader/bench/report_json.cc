// SPDX-License-Identifier: GPL-2.0
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/report.h"
#include "bench/statistics.h"

namespace djprobe::loader {
namespace {

using Json = nlohmann::ordered_json;

// Three decimals are more than any clock has.
double rounded(double value) {
    return std::round(value * 1000) / 1000;
}

Json case_json(const BenchReport& report, const BenchCase& one) {
    Json json;
    json["type"] = "result";
    json["site"] = one.site.name;
    json["mechanism"] = one.mechanism->name;
    json["program"] = body_name(one.body);
    json["place"] = place_of(*one.mechanism, one.site);
    if (!one.unavailable.empty()) {
        json["unavailable"] = one.unavailable;
        return json;
    }
    const Spread all = spread(one.per_hit);
    json["unit"] = report.unit.name();
    json["median"] = rounded(all.median);
    json["q1"] = rounded(all.q1);
    json["q3"] = rounded(all.q3);
    json["samples"] = one.per_hit.size();
    json["baseline"] = rounded(median(one.baseline));
    json["seen"] = one.seen;
    return json;
}

Json summary_json(const BenchReport& report) {
    Json json;
    json["type"] = "summary";
    json["kernel"] = report.kernel;
    json["cpu"] = report.cpu;
    json["workload"] = report.workload;
    json["function"] = report.function;
    json["unit"] = report.unit.name();
    if (report.unit.instructions) json["ns_per_instruction"] = report.unit.ns_per_instruction;
    json["rounds"] = report.rounds;
    json["blocks"] = report.blocks.blocks;
    json["calls"] = report.blocks.calls;
    json["notices"] = report.notices;
    return json;
}

std::string line(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace

std::string report_json(const BenchReport& report) {
    std::string text;
    for (const BenchCase& one : report.cases)
        text += line(case_json(report, one));
    return text + line(summary_json(report));
}

}  // namespace djprobe::loader
