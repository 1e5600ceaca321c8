// SPDX-License-Identifier: GPL-2.0
#include "trace/trace_session.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <fstream>
#include <iterator>
#include <memory>

#include "base/colour.h"
#include "base/error.h"
#include "base/output.h"
#include "base/plural.h"
#include "base/say.h"
#include "base/stop_signals.h"
#include "base/temp_dir.h"
#include "base/whole_file.h"
#include "events/loss.h"
#include "kernel/device.h"
#include "kernel/prototypes.h"
#include "report/report.h"
#include "session/attach_session.h"
#include "session/backend.h"
#include "trace/action_session.h"
#include "trace/actions.h"
#include "trace/cgroup.h"
#include "trace/distributions.h"
#include "trace/kept_results.h"
#include "trace/prepare.h"
#include "trace/program.h"
#include "trace/results_sink.h"
#include "trace/trace_checks.h"
#include "trace/types.h"

namespace djprobe::loader {
namespace {

constexpr std::size_t kTop = 20;

// Nothing else looks for the function, nor tells what attach needs.
void tell_of_emitted(const TraceOptions& options, const TraceProgram& program) {
    if (!program.unknown.empty()) say("probeload: {}\n", program.unknown);
    const bool has_name = *options.emit != "-";
    say("attach it with: probeload attach {}\n",
        attach_words(options.question, program.is_session, has_name ? *options.emit : "FILE"));
}

void write_source(const std::filesystem::path& file, const std::string& source) {
    if (file == "-") return Output(STDOUT_FILENO).print(source);
    write_whole("--emit", file, source);
}

void write_object(const std::filesystem::path& file, const std::filesystem::path& object) {
    std::ifstream stream(object, std::ios::binary);
    write_whole("--emit", file, std::string(std::istreambuf_iterator<char>(stream), {}));
}

std::uint64_t monotonic_time() {
    timespec time = {};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(time.tv_nsec);
}

std::function<PrintRecord(const btf&)> records_view(const TraceOptions& options,
                                                    const TraceProgram& program,
                                                    Symbolizer& symbolizer, Report* report) {
    const ColumnsStyle style{options.style, options.times, takes_colours(STDOUT_FILENO)};
    return [=, &options, &program, &symbolizer](const btf& types) -> PrintRecord {
        const auto columns = std::make_shared<Columns>(types, program.fields, style,
                                                       options.question.place(), symbolizer);
        if (report) report->set_columns(columns->report_columns());
        return [=](Buffer& out, std::span<const std::byte> record) {
            columns->print(out, record);
            if (report)
                report->event(columns->time(record).value_or(monotonic_time()),
                              columns->report_row(record));
        };
    };
}

// A table that is full says so.
ResultsView results_view(const TraceOptions& options, const TraceProgram& program,
                         ResultsSink& sink) {
    return [&](const bpf_object* object, Output& output, Symbolizer& symbolizer, bool is_last) {
        sink.take(kept_results(options, program, object, sink.most(), symbolizer), is_last, output);
        if (const auto lost = counted_by_program(object).value_or(0); lost != 0)
            say("probeload: the table is full: {} have no part in it: ask for fewer results\n",
                plural(lost, "call"));
    };
}

// The table's results as metrics have them.
std::function<std::vector<Distribution>(const bpf_object*, Symbolizer&)> distributions_view(
    const TraceOptions& options, const TraceProgram& program, const ResultsSink& sink) {
    return [&](const bpf_object* object, Symbolizer& symbolizer) {
        return distributions_of(kept_results(options, program, object, sink.most(), symbolizer),
                                options.question, sink.style());
    };
}

// An object or a source is always a program.
ActionChoice choice_of(const TraceOptions& options) {
    if (options.emit) return {std::nullopt, "--emit writes one"};
    Prototypes prototypes(options.types.parent_path());
    return choose_actions(options.question, prototypes);
}

// What a report is made of, and how often.
class Reporting {
  public:
    explicit Reporting(const TraceOptions& options) : file_(options.report) {
        if (file_) report_.emplace(options.question.place());
    }
    Report* report() { return report_ ? &*report_ : nullptr; }
    // Of results there are moments, so that it shows them over time.
    void set_interval(AttachOptions& attach) const {
        if (report_ && !attach.interval) attach.interval = kReportSeconds;
    }
    void ended(const Summary& summary, Symbolizer& symbolizer) {
        if (report_) report_->ended(summary_json(summary, symbolizer));
    }
    void write() const {
        if (!report_) return;
        report_->write(*file_);
        say("report: {}\n", file_->string());
    }

  private:
    static constexpr double kReportSeconds = 0.5;

    const std::optional<std::filesystem::path>& file_;
    std::optional<Report> report_;
};

ResultsSink make_sink(const TraceOptions& options, const TraceProgram& program, Report* report) {
    TableStyle style = table_style(options, program, takes_colours(STDOUT_FILENO));
    if (report) report->set_results(results_name(style), style.unit);
    const bool prints_between = !report || options.attach.interval;
    return {std::move(style), options.top.value_or(kTop), prints_between, report};
}

int run_in_detour(const TraceOptions& options, const TraceProgram& program,
                  const std::vector<djprobe_action>& actions, const Numbers& numbers) {
    Reporting reporting(options);
    ResultsSink sink = make_sink(options, program, reporting.report());
    AttachOptions attach = options.attach;
    reporting.set_interval(attach);
    const int status = run_actions(
        options.question, actions, attach, sink,
        [&](const Summary& summary, Symbolizer& symbolizer) {
            reporting.ended(summary, symbolizer);
        },
        numbers);
    reporting.write();
    return status;
}

int run_program(const PreparedTrace& trace, const std::filesystem::path& object,
                const Device* device, const Numbers& numbers) {
    const TraceOptions& options = trace.options;
    const TraceProgram& program = trace.program;
    Reporting reporting(options);
    AttachOptions attach = attach_options(trace, object, device);
    Symbolizer symbolizer;
    // What probeload reads for their names would else be hits of its own.
    if (names_symbols(program)) symbolizer.kallsyms();
    Views views;
    views.numbers = numbers;
    views.ended = [&](const Summary& summary, Symbolizer& symbols) {
        reporting.ended(summary, symbols);
    };
    std::optional<ResultsSink> sink;
    if (options.question.aggregation) {
        sink.emplace(make_sink(options, program, reporting.report()));
        reporting.set_interval(attach);
        views.results = results_view(options, program, *sink);
        if (numbers) views.distributions = distributions_view(options, program, *sink);
    } else {
        views.records = records_view(options, program, symbolizer, reporting.report());
    }
    const int status = run_attach(attach, views);
    reporting.write();
    return status;
}

// A signal waits for clang to end, and then the directory goes, too.
std::filesystem::path compiled_here(const PreparedTrace& trace, TempDir& directory) {
    const StopSignals stop;
    std::filesystem::path object = compile_program(trace, directory);
    if (!trace.options.emit) stop.check();
    return object;
}

}  // namespace

int run_trace(const TraceOptions& asked, const Numbers& numbers) {
    const PreparedTrace trace =
        prepare(asked, [](const std::string& line) { say("probeload: {}\n", line); });
    const TraceOptions& options = trace.options;
    const TraceProgram& program = trace.program;
    if (options.emit && options.emit->extension() != ".o") {
        write_source(*options.emit, program.source);
        tell_of_emitted(options, program);
        return 0;
    }
    const ActionChoice choice = choice_of(options);
    if (options.explain) {
        if (options.question.filters.cgroup) (void)find_cgroup(*options.question.filters.cgroup);
        Output(STDOUT_FILENO).print(explain_choice(options.question, choice, front_of(trace)));
        return 0;
    }
    // Before a compiler is asked for.
    std::optional<Device> device;
    if (!options.emit) device = open_device(options.attach.backend, program.is_session);
    if (options.report) Report::check_file(*options.report);
    if (choice.actions && device) return run_in_detour(options, program, *choice.actions, numbers);
    TempDir directory;
    const std::filesystem::path object = compiled_here(trace, directory);
    if (options.emit) {
        write_object(*options.emit, object);
        tell_of_emitted(options, program);
        return 0;
    }
    return run_program(trace, object, device ? &*device : nullptr, numbers);
}

}  // namespace djprobe::loader
