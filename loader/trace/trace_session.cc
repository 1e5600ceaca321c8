// SPDX-License-Identifier: GPL-2.0
#include "trace/trace_session.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>

#include "base/error.h"
#include "base/output.h"
#include "base/plural.h"
#include "base/say.h"
#include "base/temp_dir.h"
#include "debuginfo/debug_file.h"
#include "events/loss.h"
#include "kernel/device.h"
#include "kernel/glob.h"
#include "kernel/own_number.h"
#include "kernel/reason.h"
#include "session/attach_session.h"
#include "trace/beside.h"
#include "trace/compiled.h"
#include "trace/find_sites.h"
#include "trace/header.h"
#include "trace/program.h"
#include "trace/results.h"
#include "trace/table.h"
#include "trace/types.h"

namespace djprobe::loader {
namespace {

constexpr std::size_t kTop = 20;
// The kernel's TASK_COMM_LEN without the NUL.
constexpr std::size_t kLongestComm = 15;

void check_comm(const std::optional<std::string>& comm) {
    if (!comm || comm->size() <= kLongestComm) return;
    fail(ExitCode::kUsage, "--comm: the kernel keeps {} letters of a name: '{}'", kLongestComm,
         comm->substr(0, kLongestComm));
}

// What is of no use beside another option is an error, and not ignored.
void check_format(const TraceOptions& options) {
    const bool results = options.question.aggregation.has_value();
    const auto refuse = [](bool given, const char* option, const char* why) {
        if (given) fail(ExitCode::kUsage, "{}: {}", option, why);
    };
    refuse(options.folded && options.style != Style::kColumns, "--folded",
           "is a format of its own, beside neither --json nor --csv");
    refuse(results && options.question.columns != Question().columns, "--columns",
           "is for events; the columns of results are their keys");
    refuse(results && options.attach.buffer, "--buffer", "is for events, and results send none");
    refuse(!results && options.top, "--top", "is for results");
}

// Its folder is there for each processor.
void check_cpu(const TraceOptions& options) {
    const auto& cpu = options.question.filters.cpu;
    if (!cpu || options.emit) return;
    if (std::filesystem::exists(fmt::format("/sys/devices/system/cpu/cpu{}", *cpu))) return;
    fail(ExitCode::kUsage, "--cpu: this machine has no CPU {}", *cpu);
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
void check(const TraceOptions& options) {
    const std::optional<Aggregation>& results = options.question.aggregation;
    const char* const kinds = "--count-by, --sum, --avg, --min, --max, --hist or --latency";
    if (options.by && (!results || results->kind == Aggregation::Kind::kCount))
        fail(ExitCode::kUsage, "--by: goes with --sum, --avg, --min, --max, --hist or --latency");
    if (results && options.question.items)
        fail(ExitCode::kUsage,
             "'{}' would be shown of each call, but results are of all: give "
             "one of the two",
             *options.question.items);
    const bool at_returns = options.question.at_returns || (results && results->value == "latency");
    if (at_returns && options.question.is_within())
        fail(ExitCode::kUsage, "{}: --latency is of calls of a whole function",
             options.question.line ? options.question.line->text : options.question.site.str());
    if (results && options.attach.limit != 0)
        fail(ExitCode::kUsage, "--limit: stops after so many events, and results send none");
    if (options.question.inlined && (options.question.line || options.question.at_returns ||
                                     options.question.site.offset || options.question.is_glob()))
        fail(ExitCode::kUsage, "--inline: FUNC is the name of one function: {} is not",
             options.question.place());
    if (!results && options.attach.interval)
        fail(ExitCode::kUsage, "--interval: is for results: {}", kinds);
    if (!results && options.folded) fail(ExitCode::kUsage, "--folded: is for results: {}", kinds);
    if (!results && options.question.is_glob())
        fail(ExitCode::kUsage, "{}: events are those of one function: add {}",
             options.question.function(), kinds);
}

bool is_object(const std::filesystem::path& file) {
    return file.extension() == ".o";
}

// Nothing else looks for the function, nor tells what attach needs.
void tell_of_emitted(const TraceOptions& options, const TraceProgram& program) {
    if (!program.unknown.empty()) say("probeload: {}\n", program.unknown);
    const bool has_name = *options.emit != "-";
    say("attach it with: probeload attach {}\n",
        attach_words(options.question, program.is_session, has_name ? *options.emit : "FILE"));
}

void write_source(const std::filesystem::path& file, const std::string& source) {
    if (file == "-") return Output(STDOUT_FILENO).print(source);
    std::ofstream stream(file);
    stream << source;
    if (!stream.flush())
        fail(ExitCode::kFailure, "--emit: {}: {}", file.string(), std::strerror(errno));
}

void write_object(const std::filesystem::path& file, const std::filesystem::path& object) {
    std::error_code error;
    std::filesystem::copy_file(object, file, std::filesystem::copy_options::overwrite_existing,
                               error);
    if (error) fail(ExitCode::kFailure, "--emit: {}: {}", file.string(), error.message());
}

// What probeload reads for their names would else be hits of its own.
bool names_symbols(const std::vector<Field>& fields) {
    return std::ranges::any_of(fields, [](const Field& field) {
        return field.shape == Shape::kSymbol || field.shape == Shape::kStack;
    });
}

std::function<PrintRecord(const btf&)> records_view(const TraceOptions& options,
                                                    const TraceProgram& program,
                                                    Symbolizer& symbolizer) {
    return [&](const btf& types) -> PrintRecord {
        const auto columns = std::make_shared<Columns>(types, program.fields, options.style,
                                                       options.question.place(), symbolizer);
        return [columns](Buffer& out, std::span<const std::byte> record) {
            columns->print(out, record);
        };
    };
}

std::string unit_of(const TraceOptions& options) {
    return options.question.aggregation->value == "latency" ? "nanoseconds" : "";
}

// A table that is full says so.
std::function<void(const bpf_object*, Output&, Symbolizer&)> results_view(
    const TraceOptions& options, const TraceProgram& program) {
    return [&](const bpf_object* object, Output& output, Symbolizer& symbolizer) {
        const ResultsOf of{object, program.fields, options.question.aggregation->kind,
                           program.value_is_signed};
        const TableStyle style = {options.style, options.folded, of.kind,
                                  of.is_signed,  program.fields, unit_of(options)};
        output.print(table_text(read_results(of, options.top.value_or(kTop), symbolizer), style));
        if (const auto lost = counted_by_program(object).value_or(0); lost != 0)
            say("probeload: the table is full: {} have no part in it: ask for fewer results\n",
                plural(lost, "call"));
    };
}

bool is_of_this_kernel(const TraceOptions& options) {
    return options.types == TraceOptions().types;
}

bool needs_debuginfo(const Question& question) {
    return question.line || question.inlined;
}

// None where the question needs none, and there is none.
std::optional<std::string> debug_file(const TraceOptions& options) {
    const Question& question = options.question;
    if (!is_of_this_kernel(options)) {
        if (needs_debuginfo(question) && !options.debuginfo)
            fail(ExitCode::kUsage,
                 "{}: lines of another kernel need its debug information: name the file with "
                 "--debuginfo",
                 question.place());
        if (!options.debuginfo) return std::nullopt;
        return find_debug_file_of(options.types, question.module(), *options.debuginfo);
    }
    if (needs_debuginfo(question) || options.debuginfo)
        return find_debug_file(question.module(), options.debuginfo);
    return installed_debug_file(question.module());
}

// What the module says of a site; of another kernel nothing is known.
Judgement judgement_of(const TraceOptions& options) {
    if (options.emit) return {[](const SiteSpec&) -> std::optional<std::string> { return {}; }};
    const auto device = std::make_shared<Device>(Device::open());
    const auto symbolizer = std::make_shared<Symbolizer>();
    const auto judge = [=](const SiteSpec& site) -> std::optional<std::string> {
        const djprobe_explain answer = device->judge(site, 0);
        if (answer.verdict != DJPROBE_VERDICT_REFUSED) return std::nullopt;
        return describe_reason(reason_of(answer), *symbolizer);
    };
    return {judge, beside_in_running_kernel()};
}

void tell_of_left_out(const std::vector<std::string>& lines) {
    for (const std::string& line : lines)
        say("probeload: left out: {}\n", line);
}

void add_sites(TraceOptions& options) {
    Question& question = options.question;
    if (!question.is_within()) {
        if (options.debuginfo)
            fail(ExitCode::kUsage,
                 "--debuginfo: is for FILE:LINE, FUNC:+LINE, FUNC+OFFSET and --inline: {} is a "
                 "whole "
                 "function",
                 question.place());
        return;
    }
    const std::optional<std::string> file = debug_file(options);
    if (!file) return;
    std::vector<std::string> left_out;
    find_sites(DwarfFile::open(*file), judgement_of(options), question, left_out);
    tell_of_left_out(left_out);
}

}  // namespace

AttachOptions attach_options(const TraceOptions& options, const TraceProgram& program,
                             const std::filesystem::path& object) {
    AttachOptions attach = options.attach;
    attach.file = object;
    attach.session = program.is_session;
    // Its filters leave calls out on purpose.
    attach.tells_of_no_return = false;
    // The user's word: of a section's, attach tells which of its options put it elsewhere.
    if (program.sites.empty())
        attach.sites.push_back(options.question.site);
    else if (program.sites.size() == 1)
        attach.sites = program.sites;
    if (const auto own = own_number(); own && program.leaves_out_own)
        attach.globals.push_back(fmt::format("{}={}", kOwnProcess, *own));
    return attach;
}

int run_trace(const TraceOptions& asked) {
    TraceOptions options = asked;
    check(options);
    check_comm(options.question.filters.comm);
    check_format(options);
    check_cpu(options);
    check_module(options);
    if (options.by) options.question.aggregation->keys = *options.by;
    Types types = Types::read(options.types, options.question.module());
    add_sites(options);
    const TraceProgram program = write_program(options.question, types);
    tell_of_left_out(program.left_out);
    if (options.emit && !is_object(*options.emit)) {
        write_source(*options.emit, program.source);
        tell_of_emitted(options, program);
        return 0;
    }
    // Before a compiler is asked for.
    if (!options.emit) Device::open();
    TempDir directory;
    const std::filesystem::path object =
        compiled(program.source, trace_header(types, program.types), trace_flags(types), directory);
    if (options.emit) {
        write_object(*options.emit, object);
        tell_of_emitted(options, program);
        return 0;
    }
    const AttachOptions attach = attach_options(options, program, object);
    Symbolizer symbolizer;
    if (names_symbols(program.fields)) symbolizer.kallsyms();
    if (options.question.aggregation)
        return run_attach(attach, {.results = results_view(options, program)});
    return run_attach(attach, {.records = records_view(options, program, symbolizer)});
}

}  // namespace djprobe::loader
