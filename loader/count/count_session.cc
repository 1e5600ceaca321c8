// SPDX-License-Identifier: GPL-2.0
#include "count/count_session.h"

#include <unistd.h>

#include <optional>

#include "base/descriptors.h"
#include "base/output.h"
#include "count/count_measurement.h"
#include "session/command.h"
#include "session/summary.h"

namespace djprobe::loader {
namespace {

void show(const CountOptions& options, CountMeasurement& measurement, double seconds, Watch& watch,
          Output& output) {
    if (options.json)
        output.print(measurement.results(options.top));
    else
        watch.print(measurement.table(options.top, seconds));
}

}  // namespace

int run_count(const CountOptions& options, const Numbers& numbers) {
    use_all_descriptors();
    StopSignals stop;
    SnapshotSignal wish;
    Output output(STDOUT_FILENO, &stop);
    Symbolizer symbolizer;
    std::optional<Child> child;  // outlives the probes: it may take its time to end
    CountMeasurement measurement(options, symbolizer, stop);

    Watch watch(options, output);
    watch.tell(numbers, [&] { return measurement.snapshot(); });
    const std::optional<int> status = watch.run(stop, wish, child, [&](double seconds) {
        show(options, measurement, seconds, watch, output);
    });
    measurement.stop();
    Summary& summary = measurement.summary();
    // Of counts the summary is the last line, and has all.
    const bool is_told = options.json && !options.histogram_of && !summary.attachments.empty();
    if (!is_told) show(options, measurement, 0, watch, output);
    // The table has them.
    for (AttachmentReport& report : summary.attachments)
        report.top = options.json ? options.top : 0;
    summary.command_status = status;
    if (numbers) numbers(summary);
    print_summary(summary, options.json ? Format::kJson : Format::kText, output, symbolizer);
    return command_exit_status(status, options.exit_status);
}

}  // namespace djprobe::loader
