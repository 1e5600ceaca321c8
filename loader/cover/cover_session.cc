// SPDX-License-Identifier: GPL-2.0
#include "cover/cover_session.h"

#include <unistd.h>

#include "base/say.h"
#include "base/whole_file.h"
#include "blocks/chosen_functions.h"
#include "blocks/line_listing.h"
#include "blocks/listing.h"
#include "cover/coverage.h"
#include "cover/lcov.h"
#include "session/attach_session.h"
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
    /// `type`: of the last line of JSON.
    void show(const std::vector<FunctionCoverage>& functions, const char* type) {
        print(json_ ? coverage_json(functions, type) : coverage_table(functions));
    }

  private:
    bool is_taken_, json_;
    Output& output_;
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
    SnapshotSignal wish;
    Output output(STDOUT_FILENO, &stop);
    const Device device = Device::open();
    note_untested_kernel();
    Symbolizer symbolizer;
    const ChosenFunctions chosen = choose_functions(options.sites, symbolizer, stop);
    SourceText source(options.source);
    std::vector<FunctionLines> lines;
    if (options.lines) lines = read_lines(chosen.flows, options.debuginfo, chosen.image, stop);
    Report lcov("--lcov", options.lcov, output), pcs("--pcs", options.pcs, output);
    std::optional<Child> child;  // outlives the probes: it may take its time to end
    const Counting counting = options.once ? Counting::kOnce : Counting::kFewest;
    const BlockCounters counters(chosen.flows, {counting, options.mode, options.tasks}, device,
                                 symbolizer, stop);
    say("{}\n", attached_blocks_line(chosen, counters.total()));
    tell_what_is_off(device);

    Watch watch(options, output);
    Display display(options, output);
    const auto look = [&] { return cover(chosen.flows, counters.look(), lines); };
    const std::optional<int> status =
        watch.run(stop, wish, child, [&](double) { display.show(look(), "snapshot"); });
    counters.disable();
    const std::vector<FunctionCoverage> functions = look();
    if (options.annotate) display.print(annotated(functions, source, symbolizer));
    display.show(functions, "summary");
    if (lcov.is_wanted()) lcov.write(lcov_text(functions, source));
    if (pcs.is_wanted()) pcs.write(coverage_pcs(functions));
    if (status) say("{}\n", command_text(*status));
    return command_exit_status(status, options.exit_status);
}

}  // namespace djprobe::loader
