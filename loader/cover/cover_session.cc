// SPDX-License-Identifier: GPL-2.0
#include "cover/cover_session.h"

#include <unistd.h>

#include "base/output.h"
#include "base/say.h"
#include "base/whole_file.h"
#include "cover/cover_measurement.h"
#include "session/command.h"

namespace djprobe::loader {
namespace {

/// A file that is there whole at the end, or as it was. A name that cannot be written is told
/// before the counting begins. "-" is stdout.
class Report {
  public:
    Report(const char* option, const std::optional<std::string>& path, Output& output)
        : option_(option), path_(path), output_(output) {
        if (path_ && !is_stdout()) check_writable(option_, *path_);
    }
    [[nodiscard]] bool is_wanted() const { return path_.has_value(); }
    void write(const std::string& text) {
        if (is_stdout()) return output_.print(text);
        write_whole(option_, *path_, text);
    }

  private:
    [[nodiscard]] bool is_stdout() const { return path_ == "-"; }

    const char* option_;
    std::optional<std::string> path_;
    Output& output_;
};

/// The table, on stdout unless a report has that for itself.
class Display {
  public:
    Display(const CoverOptions& options, Output& output)
        : is_taken_(options.lcov == "-" || options.pcs == "-"),
          json_(options.json),
          output_(output) {}
    void print(const std::string& text) {
        if (is_taken_)
            write_stderr(text);
        else
            output_.print(text);
    }
    void show(CoverMeasurement& measurement) {
        print(json_ ? measurement.results(0) : measurement.table());
    }

  private:
    bool is_taken_, json_;
    Output& output_;
};

}  // namespace

int run_cover(const CoverOptions& options) {
    StopSignals stop;
    SnapshotSignal wish;
    Output output(STDOUT_FILENO, &stop);
    Symbolizer symbolizer;
    Report lcov("--lcov", options.lcov, output), pcs("--pcs", options.pcs, output);
    std::optional<Child> child;  // outlives the probes: it may take its time to end
    CoverMeasurement measurement(options, symbolizer, stop);

    Watch watch(options, output);
    Display display(options, output);
    const std::optional<int> status =
        watch.run(stop, wish, child, [&](double) { display.show(measurement); });
    measurement.stop();
    if (options.annotate) display.print(measurement.annotated());
    display.show(measurement);
    if (lcov.is_wanted()) lcov.write(measurement.lcov());
    if (pcs.is_wanted()) pcs.write(measurement.pcs());
    if (status) say("{}\n", command_text(*status));
    return command_exit_status(status, options.exit_status);
}

}  // namespace djprobe::loader
