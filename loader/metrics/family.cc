// SPDX-License-Identifier: GPL-2.0
#include "metrics/family.h"

#include <algorithm>
#include <utility>

namespace djprobe::loader {

Family::Family(const char* name, const char* help, prometheus::MetricType type)
    : family_{name, help, type, {}} {}

prometheus::ClientMetric& Family::add_metric(Labels labels) {
    const unsigned number = ++known_[labels];
    if (number > 1) labels.push_back({"nr", std::to_string(number)});
    prometheus::ClientMetric& metric = family_.metric.emplace_back();
    metric.label = std::move(labels);
    return metric;
}

void Family::add(Labels labels, double value) {
    prometheus::ClientMetric& metric = add_metric(std::move(labels));
    // The serializer reads the one of the family's type.
    metric.counter.value = metric.gauge.value = metric.untyped.value = value;
}

void Family::add(Labels labels, prometheus::ClientMetric::Histogram histogram) {
    add_metric(std::move(labels)).histogram = std::move(histogram);
}

void add_label(std::string name, std::string value, Labels& labels) {
    while (std::ranges::find(labels, name, &Labels::value_type::name) != labels.end())
        name += "_";
    labels.push_back({std::move(name), std::move(value)});
}

}  // namespace djprobe::loader
