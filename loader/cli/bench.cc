// SPDX-License-Identifier: GPL-2.0
#include "cli/bench.h"

#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/output.h"
#include "base/say.h"
#include "base/whole_file.h"
#include "bench/attach_cost.h"
#include "bench/report.h"
#include "cli/checks.h"
#include "cli/number_option.h"

namespace djprobe::loader {
namespace {

// The ring buffer holds a block's records.
constexpr std::uint64_t kMostCalls = 1'000'000;

constexpr const char* kBenchFooter = R"(Examples:
  probeload bench
      every mechanism of this kernel and djprobe's five, with five programs
  probeload bench --mechanism djprobe-jump,fentry --program counter
      two of them, and one program
  probeload bench --plot bench.svg
      the table, and a picture
  probeload bench --func vfs_read+0x2b
      elsewhere: a function that one of the calls known here enters exactly once
  probeload bench --attach 1000
      what attaching a thousand probes costs, until they are jumps, and
      detaching them

Attaches each mechanism to the same function in turn, round after round, calls
it from one thread on one CPU, and subtracts the same call without a probe.
Waits until the text shows the mechanism (SEEN: what stands there) and until it
shows the original again. Counts that every call was a hit. A mechanism that the
kernel does not offer is shown with the reason. Under QEMU's -icount the unit is
instructions. Without the module djprobe only the kernel's own mechanisms are
compared.

Mechanisms:
  djprobe-jump, djprobe-int3       this project's
  djprobe-count                    actions in place of the programs that count
  djprobe-return, djprobe-shadow   the same at the function's returns, exact and
                                   shadow mode
  kprobe-optimized, kprobe-int3    the kernel's, with its optimization on or off
                                   (/proc/sys/debug/kprobes-optimization, which
                                   is switched while this runs, for all kprobes,
                                   and then as it was; kill -9 or a second
                                   Ctrl-C leaves it)
  kprobe-ftrace, kretprobe, kprobe-multi, fentry, fexit
                                   the kernel's, on a function
  raw-tracepoint                   task_rename, with a call of its own that
                                   fires it once
Programs:
  empty      returns
  counter    adds 1 in a per-CPU array
  filter     the same, if a register (an argument) is not a certain number
  histogram  adds 1 in one of 65 slots, by the register's highest bit
  ringbuf    sends a record of 32 bytes through a ring buffer

With --attach the times are those to attach all probes, to have all jumps in the
text, to detach, and to have the original back; and the work of all CPUs.

Stopping it by Ctrl-C leaves nothing behind; it is looked at between two
measurements.
)";

struct Options {
    BenchOptions bench;
    bool json = false;
    std::string plot;
    std::size_t attach = 0;  ///< probes whose attaching is to be measured; 0: hits are
};

const MechanismInfo* parse_mechanism(const std::string& name) {
    if (const MechanismInfo* const info = find_mechanism(name)) return info;
    std::string names;
    for (const MechanismInfo& info : mechanisms())
        names += fmt::format("{}{}", names.empty() ? "" : ", ", info.name);
    fail(ExitCode::kUsage, "--mechanism: '{}' is none of: {}", name, names);
}

Body parse_body(const std::string& name) {
    for (const Body body : kBodies) {
        if (name == body_name(body)) return body;
    }
    fail(ExitCode::kUsage, "--program: '{}' is none of: {}", name, body_names());
}

int run_attach(const Options& options) {
    const AttachReport report = run_attach_bench({options.attach, options.bench.rounds});
    Output output(STDOUT_FILENO);
    output.print(options.json ? attach_json(report) : attach_table(report));
    return static_cast<int>(ExitCode::kOk);
}

int run_bench_verb(Options& options) {
    if (options.attach != 0) return run_attach(options);
    if (options.bench.mechanisms.empty()) {
        for (const MechanismInfo& info : mechanisms())
            options.bench.mechanisms.push_back(&info);
    }
    if (options.bench.bodies.empty()) options.bench.bodies.assign(kBodies.begin(), kBodies.end());
    // The measurement is not to be lost to a mistyped path.
    if (!options.plot.empty()) check_writable("--plot", options.plot);
    const BenchReport report = run_bench(options.bench);

    for (const std::string& notice : report.notices)
        say("probeload: {}\n", notice);
    Output output(STDOUT_FILENO);
    output.print(options.json ? report_json(report) : report_table(report));
    if (!options.plot.empty()) write_whole("--plot", options.plot, report_svg(report));
    return static_cast<int>(ExitCode::kOk);
}

// Keeps the table's order, whatever the order of the list, and each once.
template <typename Item>
void add_sorted(std::vector<Item>& items, Item item) {
    const auto at = std::ranges::lower_bound(items, item);
    if (at == items.end() || *at != item) items.insert(at, item);
}

}  // namespace

Command add_bench(CLI::App& app) {
    CLI::App* const command =
        app.add_subcommand("bench", "Compare what a hit costs with every mechanism of the kernel");
    command->footer(kBenchFooter);
    const auto options = std::make_shared<Options>();
    BenchOptions& bench = options->bench;
    std::vector<CLI::Option*> of_a_hit;
    of_a_hit.push_back(command
                           ->add_option_function<std::string>(
                               "-f,--func",
                               [&bench](const std::string& text) {
                                   bench.site =
                                       parse_one_function(text, "bench", "survey --functions");
                               },
                               "Function to probe, with the offset of an instruction in its middle")
                           ->type_name("SYM[+OFF]"));
    of_a_hit.push_back(command
                           ->add_option_function<std::vector<std::string>>(
                               "--mechanism",
                               [&bench](const std::vector<std::string>& names) {
                                   for (const std::string& name : names)
                                       add_sorted(bench.mechanisms, parse_mechanism(name));
                               },
                               "Only these")
                           ->type_name("NAME,...")
                           ->delimiter(',')
                           ->allow_extra_args(false));
    of_a_hit.push_back(command
                           ->add_option_function<std::vector<std::string>>(
                               "--program",
                               [&bench](const std::vector<std::string>& names) {
                                   for (const std::string& name : names)
                                       add_sorted(bench.bodies, parse_body(name));
                               },
                               "Only these: " + body_names())
                           ->type_name("NAME,...")
                           ->delimiter(',')
                           ->allow_extra_args(false));
    add_number(*command, "--rounds", bench.rounds, "How often each is measured (default 5)", 1,
               1000);
    of_a_hit.push_back(add_number(*command, "--calls", bench.calls,
                                  "Calls in each round of a mechanism (default 6400), in 64 blocks",
                                  1, kMostCalls));
    CLI::Option* const attach = add_number(
        *command, "--attach", options->attach,
        "Measure attaching N probes instead, against the kernel's optimized kprobes", 1, 100'000);
    of_a_hit.push_back(command->add_option("--plot", options->plot, "Also draw it into FILE")
                           ->type_name("FILE.svg")
                           ->check(not_empty));
    for (CLI::Option* const option : of_a_hit)
        attach->excludes(option);
    command->add_flag(
        "-j,--json", options->json,
        "NDJSON: an object for each mechanism, program and site, then a summary; with "
        "--attach one for each mechanism");
    return {command,
            [options] { return run_bench_verb(*options); },
            {ExitCode::kOk, ExitCode::kFailure, ExitCode::kUsage, ExitCode::kRejected,
             ExitCode::kNotLoaded, ExitCode::kAbiMismatch, ExitCode::kNoPermission,
             ExitCode::kNoSuchSite, ExitCode::kRefusedSite}};
}

}  // namespace djprobe::loader
