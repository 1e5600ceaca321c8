// SPDX-License-Identifier: GPL-2.0
// A metric of Prometheus with all its samples.
#pragma once

#include <prometheus/metric_family.h>

#include <map>
#include <string>
#include <vector>

namespace djprobe::loader {

using Labels = std::vector<prometheus::ClientMetric::Label>;

class Family {
  public:
    Family(const char* name, const char* help, prometheus::MetricType type);

    /// Of samples with the same labels Prometheus would keep one: further ones get a label "nr".
    void add(Labels labels, double value);
    void add(Labels labels, prometheus::ClientMetric::Histogram histogram);
    prometheus::MetricFamily take() { return std::move(family_); }

  private:
    prometheus::ClientMetric& add_metric(Labels labels);

    prometheus::MetricFamily family_;
    std::map<Labels, unsigned> known_;
};

/// Appends a label whose name is changed until no other one has it: "key", "key_".
void add_label(std::string name, std::string value, Labels& labels);

}  // namespace djprobe::loader
