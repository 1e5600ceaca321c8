// SPDX-License-Identifier: GPL-2.0
#include "blocks/block_session.h"

#include <unistd.h>

#include <optional>

#include "base/output.h"
#include "base/say.h"
#include "blocks/block_measurement.h"
#include "session/command.h"

namespace djprobe::loader {
namespace {

void show(BlockMeasurement& measurement, bool json, Watch& watch, Output& output) {
    if (!json) return watch.print(measurement.listing());
    // One write() for each line would be many hits of what is counted.
    measurement.each_result([&output](const std::string& line) {
        output.buffer().append(line);
        output.flush_if_full();
    });
    output.flush();
}

}  // namespace

int run_count_blocks(const BlockOptions& options) {
    StopSignals stop;
    SnapshotSignal wish;
    Output output(STDOUT_FILENO, &stop);
    Symbolizer symbolizer;
    std::optional<Child> child;  // outlives the probes: it may take its time to end
    BlockMeasurement measurement(options, symbolizer, stop);

    Watch watch(options, output);
    const auto show_now = [&] { show(measurement, options.json, watch, output); };
    const std::optional<int> status = watch.run(stop, wish, child, [&](double) { show_now(); });
    measurement.stop();
    show_now();
    write_stderr(measurement.summary());
    if (status) say("{}\n", command_text(*status));
    return command_exit_status(status, options.exit_status);
}

}  // namespace djprobe::loader
