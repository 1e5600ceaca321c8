// SPDX-License-Identifier: GPL-2.0
#include "cover/cover_session.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/error.h"
#include "base/say.h"
#include "blocks/chosen_functions.h"
#include "blocks/line_listing.h"
#include "blocks/listing.h"
#include "cover/coverage.h"
#include "cover/lcov.h"
#include "session/attach_session.h"
#include "session/command.h"

namespace djprobe::loader {
namespace {

/// A file that is made before the counting begins: a name that cannot be written is told at once.
class Report {
  public:
    explicit Report(const std::optional<std::string>& path) : path_(path) {
        if (!path_) return;
        file_.open(*path_);
        check();
    }
    [[nodiscard]] bool is_wanted() const { return path_.has_value(); }
    void write(const std::string& text) {
        file_ << text << std::flush;
        check();
    }

  private:
    void check() const {
        if (!file_) fail(ExitCode::kFailure, "{}: {}", *path_, std::strerror(errno));
    }

    std::optional<std::string> path_;
    std::ofstream file_;
};

std::string annotated(const std::vector<FunctionCoverage>& functions, SourceText& source,
                      Symbolizer& symbolizer) {
    std::string text;
    for (const FunctionCoverage& function : functions)
        text += function.source
                    ? line_listing(function.flow->name, *function.source, function.lines, source)
                    : block_listing(*function.flow, function.counts, symbolizer);
    return text;
}

}  // namespace

int run_cover(const CoverOptions& options) {
    StopSignals stop;
    Output output(STDOUT_FILENO, &stop);
    const Device device = Device::open();
    note_untested_kernel();
    Symbolizer symbolizer;
    const ChosenFunctions chosen = choose_functions(options.sites, symbolizer, stop);
    SourceText source(options.source);
    std::vector<FunctionLines> lines;
    if (options.lines) lines = read_lines(chosen.flows, options.debuginfo, chosen.image, stop);
    Report lcov(options.lcov), pcs(options.pcs);
    std::optional<Child> child;  // outlives the probes: it may take its time to end
    const Counting counting = options.once ? Counting::kOnce : Counting::kFewest;
    const BlockCounters counters(chosen.flows, counting, options.mode, device, symbolizer, stop);
    say("{}\n", attached_blocks_line(chosen, counters.total()));
    for (const std::string& line : what_is_off(device.set_switches(0, 0)))
        say("probeload: {}\n", line);

    Watch watch(options, output);
    const std::optional<int> status = watch.run(stop, child, [](double) {});
    counters.disable();
    const std::vector<FunctionCoverage> functions = cover(chosen.flows, counters.look(), lines);
    if (options.annotate) output.print(annotated(functions, source, symbolizer));
    output.print(options.json ? coverage_json(functions) : coverage_table(functions));
    if (lcov.is_wanted()) lcov.write(lcov_text(functions, source));
    if (pcs.is_wanted()) pcs.write(coverage_pcs(functions));
    if (status) say("{}\n", command_text(*status));
    return command_exit_status(status, options.exit_status);
}

}  // namespace djprobe::loader
