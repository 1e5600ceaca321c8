// SPDX-License-Identifier: GPL-2.0
#include "cli/trace.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/checks.h"
#include "cli/latency.h"
#include "cli/modes.h"
#include "cli/number_option.h"
#include "latency/latency_session.h"
#include "trace/trace_checks.h"
#include "trace/trace_session.h"

namespace djprobe::loader {
namespace {

constexpr const char* kTraceFooter = R"(Examples:
  probeload trace vfs_read -d 5
      each call for five seconds, with all arguments by name
  probeload trace vfs_read 'file->f_path.dentry->d_name.name:str, count' --if 'count > 4096'
      of which file, and how much, where it is much
  probeload trace vfs_read:return 'retval, count, latency' --comm head
      what calls return, what they were given, and the nanoseconds they took
  probeload trace tcp_sendmsg 'sk->__sk_common.skc_daddr:ip, size' --kstack -n 10
      to where, how much, and who calls it: ten events
  probeload trace vfs_read --count-by 'comm, kstack' -d 5
      how often each program reads, and from where
  probeload trace 'vfs_*' --latency --by func -c 'ls -R /usr'
      histograms of how long each of these functions takes
  probeload trace vfs_read --hist 'count:linear(0,4096,16)' --report reads.html -d 10
      how often which size, in equal steps, and a page with charts of it
  probeload trace --latency --from vfs_write --to submit_bio --by comm -d 5
      from one place to another in the same task
  probeload trace vfs_read:return --sum retval --by comm --if 'retval > 0' -i 1
      bytes that each program has read so far, each second
  probeload trace vfs_read+0x2b 'rdi, eax' -d 5
      registers at an instruction
  probeload trace fs/read_write.c:566 'file->f_inode->i_ino, count' -d 5
      at a line of the source, by its variables' names (needs debug information)
  probeload trace --inline skb_put 'skb->len, len' -d 5
      where a function was inlined: each instance
  probeload trace vfs_open 'path->dentry->d_name.name:str' -j | jq .data.name
      as JSON
  probeload trace vfs_read count --emit reads.bpf.c
      the program, to be changed, and run by 'probeload attach reads.bpf.c'

Expressions are C: the function's arguments (BTF knows their types), members by
-> and ., elements, *, &, casts, operators and constants of enums. At returns
also 'retval' and 'latency'; and everywhere 'pid', 'tid', 'uid', 'cpu'. What
pointers lead to is read as it is then, at a return when the function returns;
what cannot be read is 0. A form behind a value says how it is shown:
  :str [N]   text in the kernel's memory, up to N bytes (64)
  :ustr [N]  the same in the memory of the process
  :x         hexadecimal
  :hex [N]   N bytes from there on
  :ip        an address of the internet, of 4 or 16 bytes
  :sym       an address of the kernel as a symbol
  :kstack [N]  an array of N (16) such addresses, as a stack

KEYS are expressions, too, and 'comm', 'kstack', 'ustack' and 'func'. Results are
kept in the kernel, for each CPU by itself, and no event is sent. FUNC may then be
a GLOB, without arguments.

A column, and a member of the JSON, has the last name of its expression. Events
go to stdout, all else to stderr (also the output of COMMAND). clang compiles the
program, once for each question: it is kept in ~/.cache/djprobe.
)";

void add_filters(CLI::App& command, TaskFilters& filters) {
    const auto add = [&command](const char* name, std::optional<std::uint32_t>& to,
                                const char* what, std::uint64_t most) {
        add_number(command, name, to, what, 0, most);
    };
    add("--pid", filters.pid, "Only this process", kMostTasks);
    add("--tid", filters.tid, "Only this thread", kMostTasks);
    add("--uid", filters.uid, "Only processes of this user", UINT32_MAX);
    add("--cpu", filters.cpu, "Only on this CPU", UINT32_MAX);
    command
        .add_option("--comm", filters.comm,
                    "Only threads of this name, up to 15 letters, no pattern")
        ->type_name("NAME")
        ->check(not_empty);
    command
        .add_option(
            "--cgroup", filters.cgroup,
            "Only tasks of this control group and of those below it: a folder of /sys/fs/cgroup")
        ->type_name("PATH")
        ->check(not_empty);
}

constexpr const char* kResults = "--count-by, --sum, --avg, --min, --max, --hist and --latency";

void set_results(const char* name, std::optional<Aggregation>& results, Aggregation::Kind kind,
                 const std::string& text) {
    if (results) fail(ExitCode::kUsage, "{}: one of {} at a time", name, kResults);
    results.emplace();
    results->kind = kind;
    (kind == Aggregation::Kind::kCount ? results->keys : results->value) = text;
    if (kind != Aggregation::Kind::kHistogram) return;
    results->linear = take_linear(results->value);
    if (results->value.empty())
        fail(ExitCode::kUsage, "{}: of what? Write an expression before :linear", name);
}

// Of a latency that is of no function's calls.
struct Ends {
    std::optional<Place> from, to;
    std::string from_text, to_text;

    [[nodiscard]] bool any() const { return from || to; }
};

// One of them, in place of events.
void add_results(CLI::App& command, TraceOptions& options, Ends& ends) {
    using Kind = Aggregation::Kind;
    std::optional<Aggregation>& results = options.question.aggregation;
    const auto add = [&](const char* name, Kind kind, const char* what) {
        command
            .add_option_function<std::string>(
                name,
                [&results, name, kind](const std::string& text) {
                    set_results(name, results, kind, text);
                },
                what)
            ->type_name(kind == Kind::kCount ? "KEYS" : "EXPRESSION")
            ->check(not_empty);
    };
    add("--count-by", Kind::kCount, "Count the calls for each value of KEYS");
    add("--sum", Kind::kSum, "The sum, of all calls or for each value of --by");
    add("--avg", Kind::kAverage, "The average");
    add("--min", Kind::kLeast, "The least");
    add("--max", Kind::kMost, "The largest");
    add("--hist", Kind::kHistogram,
        "How often it was in which power of two, or with :linear(A,B,N) behind it in which of N "
        "equal steps from A to B");
    command.add_flag_callback(
        "--latency",
        [&options] {
            options.question.at_returns = true;
            set_results("--latency", options.question.aggregation, Kind::kHistogram, "latency");
        },
        "The same of the nanoseconds from entry to return");
    const auto add_end = [&](const char* name, std::optional<Place>& end, std::string& as_typed,
                             const char* what) {
        command
            .add_option_function<std::string>(
                name,
                [&end, &as_typed](const std::string& text) {
                    end = parse_latency_end(text);
                    as_typed = text;
                },
                what)
            ->type_name("SITE")
            ->check(not_empty);
    };
    add_end("--from", ends.from, ends.from_text,
            "With --latency, in place of FUNC: from here in a task ...");
    add_end("--to", ends.to, ends.to_text, "... to here, as probeload latency does it");
    command.add_option("--by", options.by, "With one of these but --count-by: a result for each")
        ->type_name("KEYS")
        ->check(not_empty);
    add_number(command, "--top", options.top, "Show so many results, the largest (default 20)", 1,
               1'000'000);
    command.add_option("-i,--interval", options.attach.interval, "Show results so often, too")
        ->type_name("SECONDS")
        ->check(positive);
    command.add_flag("--folded", options.folded, "Results as folded stacks, for flame graphs");
}

TimeColumn parse_times(const std::string& text) {
    if (text == "boot") return TimeColumn::kBoot;
    if (text == "wall") return TimeColumn::kWall;
    if (text == "delta") return TimeColumn::kDelta;
    fail(ExitCode::kUsage, "--times: '{}' is none of boot, wall, delta", text);
}

void add_output(CLI::App& command, TraceOptions& options) {
    command
        .add_option_function<std::string>(
            "--columns",
            [&options](const std::string& text) { options.question.columns = parse_columns(text); },
            "Before the values: of time, cpu, pid, tid, uid, comm (default time,cpu,pid,comm)")
        ->type_name("LIST")
        ->check(not_empty);
    const auto times = [&options](const std::string& text) { options.times = parse_times(text); };
    command.add_option_function<std::string>("--times", times, "What the column time has")
        ->type_name("boot|wall|delta")
        ->check(not_empty);
    command.add_flag("--kstack", options.question.kernel_stack, "And the kernel's stack");
    command.add_flag("--ustack", options.question.user_stack, "And that of the process");
    auto* const json = command.add_flag_callback(
        "-j,--json",
        [&options] {
            options.style = Style::kJson;
            options.attach.format = Format::kJson;
        },
        "Events and summary as NDJSON");
    command
        .add_flag_callback(
            "--csv", [&options] { options.style = Style::kCsv; }, "Events or results as CSV")
        ->excludes(json);
    command
        .add_option("--report", options.report,
                    "Also an HTML page of all that came: charts over time, histograms, stacks")
        ->type_name("FILE")
        ->check(not_empty);
    command.add_flag("--explain", options.explain,
                     "Say whether a program or the detour itself would do it, and run nothing");
}

// What two programs that are part of probeload measure knows no expressions.
void check_ends(const CLI::App& command) {
    for (const CLI::Option* const option : command.get_options()) {
        const std::string name = option->get_name();
        const std::set<std::string> known = {"--from", "--to",       "--latency",     "--by",
                                             "--top",  "--duration", "--interval",    "--command",
                                             "--json", "--metrics",  "--metrics-file"};
        if (option->count() == 0 || known.contains(name)) continue;
        fail(ExitCode::kUsage, "{}: is not for --latency --from SITE --to SITE", name);
    }
    if (command.count("--latency") == 0 || command.count("--from") == 0 ||
        command.count("--to") == 0)
        fail(ExitCode::kUsage, "--from and --to: write --latency --from SITE --to SITE");
}

int run_between(const TraceOptions& options, const Ends& ends, const Numbers& numbers) {
    LatencyOptions latency;
    latency.from = *ends.from;
    latency.to = *ends.to;
    latency.style.from = ends.from_text;
    latency.style.to = ends.to_text;
    if (options.by) latency.style.by = parse_latency_by(*options.by);
    if (options.top) latency.style.top = *options.top;
    latency.seconds = options.attach.seconds;
    latency.interval = options.attach.interval;
    latency.command = options.attach.command;
    latency.json = options.style == Style::kJson;
    return run_latency(latency, numbers);
}

int run_trace_verb(const CLI::App& command, const TraceOptions& options, const Ends& ends,
                   const MetricsOptions& metrics) {
    if (ends.any())
        check_ends(command);
    else if (command.count("FUNC") == 0)
        fail(ExitCode::kUsage, "FUNC is required (see --help)");
    else if (metrics.address || metrics.file)
        check_trace_metrics(options);
    return run_with_metrics(metrics, [&](const Numbers& numbers) {
        return ends.any() ? run_between(options, ends, numbers) : run_trace(options, numbers);
    });
}

void add_run(CLI::App& command, AttachOptions& attach) {
    command.add_option("-d,--duration", attach.seconds, "Stop after so many seconds")
        ->type_name("SECONDS")
        ->check(positive);
    command
        .add_option("-c,--command", attach.command, "Run by /bin/sh once attached; stop at its end")
        ->type_name("COMMAND")
        ->check(not_empty);
    add_number(command, "-n,--limit", attach.limit, "Stop after so many events", 1, UINT64_MAX);
    command
        .add_option_function<std::string>(
            "--buffer",
            [&attach](const std::string& text) { attach.buffer = parse_buffer_size(text); },
            "Bytes of the ring buffer: 64K, 1M (default 256K)")
        ->type_name("SIZE")
        ->check(buffer_size);
    add_backend(command, attach.backend);
    command.add_flag("-v,--verbose", attach.verbose, "Show what libbpf says");
}

}  // namespace

Command add_trace(CLI::App& app) {
    CLI::App* const command =
        app.add_subcommand("trace", "Show the values of expressions at a function's calls");
    command->footer(kTraceFooter);
    const auto options = std::make_shared<TraceOptions>();
    const auto ends = std::make_shared<Ends>();
    const auto metrics = std::make_shared<MetricsOptions>();
    command
        ->add_option_function<std::string>(
            "FUNC", [options](const std::string& text) { parse_place(text, options->question); },
            "SYM or MODULE:SYM, its entry; SYM:return, its returns; SYM+OFFSET, an instruction; "
            "FILE:LINE or SYM:+LINE, a line")
        ->type_name("");
    command
        ->add_option_function<std::vector<std::string>>(
            "EXPRESSIONS",
            [options](const std::vector<std::string>& words) {
                if (words.size() > 1)
                    fail(ExitCode::kUsage,
                         "{} words are given: put commas between expressions, and all of them in "
                         "quotes: '{}'",
                         words.size(), fmt::join(words, ", "));
                options->question.items = words.front();
            },
            "What is shown, with commas between (default: all arguments, or retval)")
        ->type_name("")
        ->expected(1, -1)
        ->check(not_empty);
    command->add_flag("--inline", options->question.inlined,
                      "FUNC where it was inlined, each instance (needs debug information)");
    command->add_option("--if", options->question.condition, "Only where this is not 0")
        ->type_name("EXPRESSION")
        ->check(not_empty);
    add_filters(*command, options->question.filters);
    add_results(*command, *options, *ends);
    add_output(*command, *options);
    add_run(*command, options->attach);
    add_metrics_options(*command, *metrics, "the histograms of --hist and --latency");
    command
        ->add_option("--emit", options->emit,
                     "Write the program, as source or, for .o, compiled; run nothing. What is of "
                     "the run and of the output is then attach's")
        ->type_name("FILE")
        ->check(not_empty);
    command
        ->add_option("--debuginfo", options->debuginfo,
                     "Where the debug information is: a folder, or the file itself (default "
                     "/usr/lib/debug, then DEBUGINFOD_URLS)")
        ->type_name("DIR")
        ->check(not_empty);
    command->add_option("--btf", options->types, "Of another kernel, with --emit: its vmlinux")
        ->type_name("FILE")
        ->check(not_empty)
        ->needs("--emit");
    return {command,
            [=] { return run_trace_verb(*command, *options, *ends, *metrics); },
            {std::begin(kAllExitCodes), std::end(kAllExitCodes)}};
}

}  // namespace djprobe::loader
