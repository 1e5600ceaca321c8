// SPDX-License-Identifier: GPL-2.0
// Where Prometheus finds a session's numbers: at an address, in a file, or both.
#pragma once

#include <prometheus/metric_family.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "session/summary.h"

namespace djprobe::loader {

class MetricsExport {
  public:
    /// Listens at `address` ("IP:PORT", see parse_metrics_address()), unless it is none. Throws
    /// Error, also where no such file can be made.
    MetricsExport(const std::optional<std::string>& address,
                  std::optional<std::filesystem::path> file);
    ~MetricsExport();
    MetricsExport(const MetricsExport&) = delete;
    MetricsExport& operator=(const MetricsExport&) = delete;

    /// What is told from now on. A reader of the file sees the old numbers or the new ones, never a
    /// part. Where it cannot be written a line of stderr says so.
    void update(const Summary& summary);

  private:
    struct Server;

    void write_file(const std::vector<prometheus::MetricFamily>& families);

    std::unique_ptr<Server> server_;
    std::optional<std::filesystem::path> file_;
    bool failing_ = false;
};

}  // namespace djprobe::loader
