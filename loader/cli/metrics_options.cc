// SPDX-License-Identifier: GPL-2.0
#include "cli/metrics_options.h"

#include "cli/checks.h"
#include "metrics/metrics_export.h"
#include "metrics/metrics_option.h"

namespace djprobe::loader {

void add_metrics_options(CLI::App& command, MetricsOptions& options, const std::string& what) {
    command
        .add_option_function<std::string>(
            "--metrics",
            [&options](const std::string& text) { options.address = parse_metrics_address(text); },
            "Serve " + what + " to Prometheus: http://127.0.0.1:PORT/metrics")
        ->type_name("[ADDR:]PORT");
    command
        .add_option("--metrics-file", options.file,
                    "The same in a file for node_exporter's textfile collector, each second")
        ->type_name("FILE.prom")
        ->check(not_empty);
}

int run_with_metrics(const MetricsOptions& options,
                     const std::function<int(const Numbers& numbers)>& run) {
    if (!options.address && !options.file) return run({});
    MetricsExport metrics(options.address, options.file);
    return run([&metrics](const Summary& summary) { metrics.update(summary); });
}

}  // namespace djprobe::loader
