// SPDX-License-Identifier: GPL-2.0
#include "latency/latency_session.h"

#include <unistd.h>

#include <optional>

#include "base/output.h"
#include "latency/latency_measurement.h"
#include "session/command.h"
#include "session/summary.h"

namespace djprobe::loader {
namespace {

void show(const LatencyOptions& options, LatencyMeasurement& measurement, Watch& watch,
          Output& output) {
    if (options.json)
        output.print(measurement.results(options.style.top));
    else
        watch.print(measurement.table(options.style.top));
}

}  // namespace

int run_latency(const LatencyOptions& options, const Numbers& numbers) {
    StopSignals stop;
    SnapshotSignal wish;
    Output output(STDOUT_FILENO, &stop);
    Symbolizer symbolizer;
    std::optional<Child> child;  // outlives the probes: it may take its time to end
    LatencyMeasurement measurement(options, symbolizer, stop);

    Watch watch(options, output);
    watch.tell(numbers, [&] { return measurement.snapshot(); });
    const auto show_now = [&] { show(options, measurement, watch, output); };
    const std::optional<int> status = watch.run(stop, wish, child, [&](double) { show_now(); });
    measurement.stop();
    show_now();
    Summary& summary = measurement.summary();
    summary.command_status = status;
    if (numbers) numbers(summary);
    print_summary(summary, options.json ? Format::kJson : Format::kText, output, symbolizer);
    return command_exit_status(status, options.exit_status);
}

}  // namespace djprobe::loader
