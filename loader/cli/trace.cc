// SPDX-License-Identifier: GPL-2.0
#include "cli/trace.h"

#include <CLI/CLI.hpp>
#include <iterator>
#include <memory>
#include <string>

#include "base/error.h"
#include "cli/checks.h"
#include "cli/number_option.h"
#include "trace/trace_session.h"

namespace djprobe::loader {
namespace {

constexpr const char* kFooter = R"(Examples:
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
  probeload trace vfs_read:return --sum retval --by comm --if 'retval > 0' -i 1
      bytes that each program has read so far, each second
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

KEYS are expressions, too, and 'comm', 'kstack', 'ustack' and 'func'. Results are
kept in the kernel, for each CPU by itself, and no event is sent. FUNC may then be
a GLOB, without arguments.

A column, and a member of the JSON, has the last name of its expression. Events
go to stdout, all else to stderr (also the output of COMMAND). clang compiles the
program, once for each question: it is kept in ~/.cache/djprobe.
)";

void add_filters(CLI::App& command, TaskFilters& filters) {
    const auto add = [&command](const char* name, std::optional<std::uint32_t>& to,
                                const char* what) {
        add_number(command, name, to, what, 0, UINT32_MAX);
    };
    add("--pid", filters.pid, "Only this process");
    add("--tid", filters.tid, "Only this thread");
    add("--uid", filters.uid, "Only processes of this user");
    add("--cpu", filters.cpu, "Only on this CPU");
    command.add_option("--comm", filters.comm, "Only threads of this name, up to 15 letters")
        ->type_name("NAME")
        ->check(not_empty);
}

// One of them, in place of events.
void add_results(CLI::App& command, TraceOptions& options) {
    using Kind = Aggregation::Kind;
    std::optional<Aggregation>& results = options.question.aggregation;
    auto* const group = command.add_option_group("results");
    const auto add = [&](const char* name, Kind kind, const char* what) {
        group
            ->add_option_function<std::string>(
                name,
                [&results, kind](const std::string& text) {
                    if (!results) results.emplace();
                    results->kind = kind;
                    (kind == Kind::kCount ? results->keys : results->value) = text;
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
    add("--hist", Kind::kHistogram, "How often it was in which power of two");
    group->add_flag_callback(
        "--latency",
        [&options] {
            options.question.at_returns = true;
            if (!options.question.aggregation) options.question.aggregation.emplace();
            options.question.aggregation->kind = Kind::kHistogram;
            options.question.aggregation->value = "latency";
        },
        "The same of the nanoseconds from entry to return");
    group->require_option(0, 1);
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

void add_output(CLI::App& command, TraceOptions& options) {
    command
        .add_option_function<std::string>(
            "--columns",
            [&options](const std::string& text) { options.question.columns = parse_columns(text); },
            "Before the values: of time, cpu, pid, tid, uid, comm (default time,cpu,pid,comm)")
        ->type_name("LIST");
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
    command.add_flag("-v,--verbose", attach.verbose, "Show what libbpf says");
}

}  // namespace

Command add_trace(CLI::App& app) {
    CLI::App* const command =
        app.add_subcommand("trace", "Show the values of expressions at a function's calls");
    command->footer(kFooter);
    const auto options = std::make_shared<TraceOptions>();
    command
        ->add_option_function<std::string>(
            "FUNC", [options](const std::string& text) { parse_place(text, options->question); },
            "SYM or MODULE:SYM, its entry; SYM:return, its returns")
        ->type_name("")
        ->required();
    command
        ->add_option("EXPRESSIONS", options->question.items,
                     "What is shown, with commas between (default: all arguments, or retval)")
        ->type_name("")
        ->check(not_empty);
    command->add_option("--if", options->question.condition, "Only where this is not 0")
        ->type_name("EXPRESSION")
        ->check(not_empty);
    add_filters(*command, options->question.filters);
    add_results(*command, *options);
    add_output(*command, *options);
    add_run(*command, options->attach);
    command
        ->add_option("--emit", options->emit,
                     "Write the program, as source or, for .o, compiled; run nothing")
        ->type_name("FILE");
    command->add_option("--btf", options->types, "Of another kernel, with --emit: its vmlinux")
        ->type_name("FILE")
        ->needs("--emit");
    return {command,
            [options] { return run_trace(*options); },
            {std::begin(kAllExitCodes), std::end(kAllExitCodes)}};
}

}  // namespace djprobe::loader
