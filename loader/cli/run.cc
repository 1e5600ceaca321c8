// SPDX-License-Identifier: GPL-2.0
#include "cli/run.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cli/modes.h"
#include "run/bench_session.h"
#include "run/run_session.h"

namespace djprobe::loader {
namespace {

constexpr const char* kRunFooter = R"(Examples:
  probeload run -- bpftrace -e 'kprobe:vfs_read { @[comm] = count(); }'
      the tool as it is, its probes by djprobe; Ctrl-C ends it, and the summary
      on stderr tells how many of its probes djprobe has placed
  probeload run --strict -- funclatency-bpfcc vfs_read
      an error to the tool (EACCES) where the kernel would place a probe
  probeload run --bench -c 'ls -lR /usr' -- bpftrace -e 'kprobe:vfs_* { @ = count(); }'
      what the tool costs, with its probes by the kernel and by djprobe

TOOL may be any program: its kprobes and kretprobes of perf_event_open(), with a
program by PERF_EVENT_IOC_SET_BPF or by a BPF link, and its kprobe.multi links
go to djprobe, those of its threads and children, too. What djprobe does not
take the kernel places, as without probeload: tracefs probes, tracepoints,
fentry, uprobes, refused places, all where the module is not loaded.

The summary goes to stderr. The exit status is TOOL's; a signal that has ended it
ends probeload, too; 13 and a line of stderr where it cannot be run.
probeload ends when TOOL and all that it has left behind have ended, or once TOOL
has ended by a signal.
)";

void add_options(CLI::App& command, RunOptions& options) {
    command
        .add_option_function<std::string>(
            "--mode", [&options](const std::string& text) { options.mode = parse_mode(text); },
            "auto: a jump where it is safe (default); int3: never a jump")
        ->type_name("auto|int3");
    command
        .add_option_function<std::string>(
            "--ret-mode",
            [&options](const std::string& text) { options.return_mode = parse_return_mode(text); },
            "Of kretprobes, as in attach: exact, shadow, or auto (default)")
        ->type_name("auto|exact|shadow");
    command.add_flag("--strict", options.strict,
                     "A probe that the kernel would place is an error, and so is a missing module");
    command.add_flag("-j,--json", options.json, "The summary as a line of JSON");
    CLI::Option* const bench =
        command.add_flag("--bench", options.bench,
                         "Time a workload without TOOL, with it, and with its probes by djprobe");
    command
        .add_option("-c,--command", options.workload,
                    "With --bench: the workload, for /bin/sh (default: system calls)")
        ->type_name("COMMAND")
        ->check(not_empty)
        ->needs(bench);
    command
        .add_option_function<std::string>(
            "TOOL",
            [](const std::string& text) {
                fail(ExitCode::kUsage, "'{}': put -- in front of the tool: run -- {} ...", text,
                     text);
            },
            "The command and its arguments, behind --")
        ->type_name("");
}

}  // namespace

Command add_run(CLI::App& app, std::vector<std::string> tool) {
    CLI::App* const command =
        app.add_subcommand("run", "Run a tool with its kprobes placed by djprobe");
    command->footer(kRunFooter);
    const auto options = std::make_shared<RunOptions>();
    options->tool = std::move(tool);
    add_options(*command, *options);
    return {command,
            [options] {
                if (options->tool.empty() || options->tool.front().empty())
                    fail(ExitCode::kUsage, "run: which tool? Put -- and its words behind");
                return options->bench ? bench_tool(*options) : run_tool(*options);
            },
            {ExitCode::kOk, ExitCode::kFailure, ExitCode::kUsage, ExitCode::kNotLoaded,
             ExitCode::kAbiMismatch, ExitCode::kNoPermission, ExitCode::kCommandFailed}};
}

}  // namespace djprobe::loader
