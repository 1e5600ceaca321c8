// SPDX-License-Identifier: GPL-2.0
#include "cli/latency.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "base/error.h"
#include "cli/checks.h"
#include "cli/metrics_options.h"
#include "cli/modes.h"
#include "cli/number_option.h"
#include "cli/watch_options.h"
#include "latency/latency_session.h"

namespace djprobe::loader {
namespace {

constexpr const char* kLatencyFooter = R"(Examples:
  probeload latency vfs_read vfs_read:return -d 5
      how long reads take, in five seconds
  probeload latency vfs_write submit_bio --by comm -c 'dd if=/dev/zero of=f bs=1M count=9'
      from a write to the block layer, for each program
  probeload latency vfs_read+0x2b vfs_read+0x71 --by cpu -i 1
      between two instructions, for each CPU, a table each second
  probeload latency ext4:ext4_sync_file ext4:ext4_sync_file:return -c sync -j | jq .mean
      a module's function, as JSON
  probeload latency vfs_read vfs_read:return --metrics 9435
      served to Prometheus, as the histogram djprobe_latency_seconds

A begins a time, the next B in the same task ends it. A task has one time at a
time: where A comes again before B, the later one counts. What makes no pair has
a count of its own, for each cause. The nanoseconds are of a clock that does not
stop while the task waits or other tasks run.

An interrupt belongs to the task that it interrupts, on an idle CPU to the idle
task of that CPU. So an A of the task's own and a B in an interrupt may make a
pair. What probeload itself does is left out.

No program runs: the code that a hit leads to reads the CPU's clock itself. Where
it cannot, as with --by comm, two BPF programs do, which are part of probeload;
stderr says which, and why. Where the module is not loaded they do so at the
kernel's own kprobes, and what those miss is in the summary: a kretprobe follows
few calls at a time, twice as many as there are CPUs, or ten. All find a task's
time at its number in an array of 8 bytes for each number up to kernel.pid_max:
that is 32 MiB where it is 4194304. No hit takes memory, a lock, or the time of
other CPUs.

The table goes to stdout, all else to stderr (also the output of COMMAND).
SIGUSR1 (kill -USR1 PID) shows it so far.
)";

void add_place(CLI::App& command, const char* name, Place& place, std::string& text,
               const char* what) {
    command
        .add_option_function<std::string>(
            name,
            [&place, &text](const std::string& word) {
                place = parse_latency_end(word);
                text = word;
            },
            what)
        ->type_name("")
        ->required();
}

void add_modes(CLI::App& command, LatencyOptions& options) {
    command
        .add_option_function<std::string>(
            "--mode", [&options](const std::string& text) { options.mode = parse_mode(text); },
            "auto: a jump where it is safe (default); int3: never a jump")
        ->type_name("auto|int3");
    command
        .add_option_function<std::string>(
            "--ret-mode",
            [&options](const std::string& text) { options.return_mode = parse_return_mode(text); },
            "How returns are seen, as in attach")
        ->type_name("auto|exact|shadow");
    add_backend(command, options.backend);
}

}  // namespace

Command add_latency(CLI::App& app) {
    CLI::App* const command =
        app.add_subcommand("latency", "Show how long tasks take from one place to another");
    command->footer(kLatencyFooter);
    const auto options = std::make_shared<LatencyOptions>();
    add_place(*command, "A", options->from, options->style.from,
              "Where it begins: SYM, SYM+OFFSET, MODULE:SYM, SYM:return or 0xADDRESS");
    add_place(*command, "B", options->to, options->style.to, "Where it ends");
    auto* const by = command->add_option_function<std::string>(
        "--by", [options](const std::string& text) { options->style.by = parse_latency_by(text); },
        "A histogram for each CPU, or each name of a task, at B");
    by->type_name("cpu|comm");
    add_number(*command, "--top", options->style.top,
               "With --by: show so many, those with the most pairs (default 20)", 1, 1'000'000)
        ->needs(by);
    add_watch_options(*command, *options);
    command
        ->add_option("-i,--interval", options->interval,
                     "Show it so often (default: each second on a terminal, else only at the end)")
        ->type_name("SECONDS")
        ->check(positive);
    add_modes(*command, *options);
    command->add_flag("-j,--json", options->json, "Histogram and summary as NDJSON");
    const auto metrics = std::make_shared<MetricsOptions>();
    add_metrics_options(*command, *metrics, "histograms and hits");
    return {command,
            [options, metrics] {
                return run_with_metrics(*metrics, [&](const Numbers& numbers) {
                    return run_latency(*options, numbers);
                });
            },
            {ExitCode::kOk, ExitCode::kFailure, ExitCode::kUsage, ExitCode::kRejected,
             ExitCode::kNotLoaded, ExitCode::kAbiMismatch, ExitCode::kNoPermission,
             ExitCode::kNoSuchSite, ExitCode::kRefusedSite, ExitCode::kBusySite,
             ExitCode::kCommandFailed}};
}

}  // namespace djprobe::loader
