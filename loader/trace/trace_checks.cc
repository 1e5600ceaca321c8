// SPDX-License-Identifier: GPL-2.0
#include "trace/trace_checks.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "kernel/glob.h"
#include "kernel/symbolizer.h"
#include "kernel/task_filter.h"

namespace djprobe::loader {
namespace {

// By its name attach tells source from an object. A device or a pipe is for something else.
void check_emitted(const std::filesystem::path& file) {
    std::error_code error;
    if (file == "-" || file.extension() == ".c" || file.extension() == ".o") return;
    if (std::filesystem::is_other(file, error)) return;
    fail(ExitCode::kUsage,
         "--emit {}: attach reads FILE.bpf.c, the source, or FILE.bpf.o, compiled", file.string());
}

// What is of no use beside another option is an error, and not ignored.
void check_format(const TraceOptions& options) {
    const bool results = options.question.aggregation.has_value();
    const std::vector<std::string>& columns = options.question.columns;
    const auto refuse = [](bool given, const char* option, const char* why) {
        if (given) fail(ExitCode::kUsage, "{}: {}", option, why);
    };
    refuse(options.folded && options.style != Style::kColumns, "--folded",
           "is a format of its own, beside neither --json nor --csv");
    // Without one its lines name nothing.
    refuse(options.folded && results && options.question.aggregation->keys.empty() && !options.by &&
               !options.question.kernel_stack && !options.question.user_stack,
           "--folded", "is for stacks: add --kstack, --ustack or --by KEYS");
    refuse(results && columns != Question().columns, "--columns",
           "is for events; the columns of results are their keys");
    refuse(results && options.attach.buffer, "--buffer", "is for events, and results send none");
    refuse(!results && options.top, "--top", "is for results");
    refuse(results && options.times != TimeColumn::kBoot, "--times", "is for events");
    refuse(options.times != TimeColumn::kBoot && std::ranges::count(columns, "time") == 0,
           "--times", "is for the column time, which --columns leaves out");
    refuse(options.report && options.emit, "--report", "is of a run, and --emit runs nothing");
    refuse(options.report == "-", "--report", "'-' names no file; stdout has the events");
    refuse(options.explain && options.emit, "--explain", "writes no program: leave out --emit");
    if (options.emit) check_emitted(*options.emit);
}

// Its folder is there for each processor.
void check_cpu(const TraceOptions& options) {
    const auto& cpu = options.question.filters.cpu;
    if (!cpu || options.emit) return;
    if (std::filesystem::exists(fmt::format("/sys/devices/system/cpu/cpu{}", *cpu))) return;
    fail(ExitCode::kUsage, "--cpu: this machine has no CPU {}", *cpu);
}

// A program that --emit writes may run later, and elsewhere.
void check_tasks(const TraceOptions& options) {
    const TaskFilters& filters = options.question.filters;
    if (filters.comm) check_name(*filters.comm);
    if (options.emit || (!filters.pid && !filters.tid)) return;
    if (!numbers_are_ours()) return;
    if (filters.pid) check_process(*filters.pid);
    if (filters.tid) check_thread(*filters.tid);
}

// One that is loaded may have no types.
void check_module(const TraceOptions& options) {
    const std::string module = options.question.module();
    const bool is_this_kernel = options.types == TraceOptions().types;
    if (module.empty() || !is_this_kernel) return;
    if (std::filesystem::exists(options.types.parent_path() / module)) return;
    Symbolizer symbolizer;
    const std::string name = options.question.line ? module + ":*" : options.question.function();
    const std::string missing = missing_module(symbolizer.kallsyms(), name);
    if (!missing.empty()) fail(ExitCode::kNoSuchSite, "{}: {}", options.question.place(), missing);
}

// What goes together, and what does not.
void check_question(const TraceOptions& options) {
    const std::optional<Aggregation>& results = options.question.aggregation;
    const char* const kinds = "--count-by, --sum, --avg, --min, --max, --hist or --latency";
    if (options.by && (!results || results->kind == Aggregation::Kind::kCount))
        fail(ExitCode::kUsage, "--by: goes with --sum, --avg, --min, --max, --hist or --latency");
    if (results && options.question.items)
        fail(ExitCode::kUsage,
             "'{}' would be shown of each call, but results are of all: give "
             "one of the two",
             *options.question.items);
    if (options.question.inlined && (options.question.line || options.question.at_returns ||
                                     options.question.site.offset || options.question.is_glob()))
        fail(ExitCode::kUsage, "--inline: FUNC is the name of one function: {} is not",
             options.question.place());
    const bool at_returns = options.question.at_returns || (results && results->value == "latency");
    if (at_returns && options.question.is_within())
        fail(ExitCode::kUsage, "{}: --latency is of calls of a whole function",
             options.question.line ? options.question.line->text : options.question.site.str());
    if (results && options.attach.limit != 0)
        fail(ExitCode::kUsage, "--limit: stops after so many events, and results send none");
    if (!results && options.attach.interval)
        fail(ExitCode::kUsage, "--interval: is for results: {}", kinds);
    if (!results && options.folded) fail(ExitCode::kUsage, "--folded: is for results: {}", kinds);
    if (!results && options.question.is_glob())
        fail(ExitCode::kUsage, "{}: events are those of one function: add {}",
             options.question.function(), kinds);
}

}  // namespace

void check_trace(const TraceOptions& options) {
    check_question(options);
    check_format(options);
    check_cpu(options);
    check_tasks(options);
    check_module(options);
}

void check_trace_metrics(const TraceOptions& options) {
    const std::optional<Aggregation>& results = options.question.aggregation;
    if (!results || results->kind != Aggregation::Kind::kHistogram)
        fail(ExitCode::kUsage,
             "--metrics and --metrics-file: are for histograms: add --hist or --latency");
    if (options.emit || options.explain)
        fail(ExitCode::kUsage,
             "--metrics and --metrics-file: go with what runs: leave out --emit and --explain");
}

}  // namespace djprobe::loader
