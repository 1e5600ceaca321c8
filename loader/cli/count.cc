// SPDX-License-Identifier: GPL-2.0
#include "cli/count.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>

#include "base/error.h"
#include "blocks/block_session.h"
#include "cli/checks.h"
#include "cli/modes.h"
#include "cli/number_option.h"
#include "cli/source_options.h"
#include "cli/task_options.h"
#include "cli/watch_options.h"
#include "cli/words.h"

namespace djprobe::loader {
namespace {

constexpr const char* kCountFooter = R"(Examples:
  probeload count 'vfs_*'
      calls of each function of such a name, a live table until Ctrl-C
  probeload count 'tcp_*' 'ip_*' -c 'curl -s example.com >/dev/null'
      while the command runs
  probeload count vfs_read vfs_read+0x2b -d 10 -i 1
      an entry and an instruction for ten seconds, a table each second
  probeload count vfs_read vfs_write --if 'count > 4096' -d 10
      only calls with such an argument
  probeload count --blocks tcp_sendmsg_locked -d 10
      each basic block of a function, beside its instructions
  probeload count --lines tcp_sendmsg_locked --source linux-6.12 -d 10
      each line of its source (by debug information: linux-image-RELEASE-dbg)
  probeload count 'ext4:*' -d 5 -j | jq -c '.probes[].top[]'
      a module's functions, as JSON

No program runs: the code that a hit leads to increments a counter itself, in
two to ten instructions, and calls nothing. So hits count wherever they come
from, also from NMIs and from within BPF programs, and none is missed; only at
instructions where the kernel has a kprobe of its own it may skip some. Recursive
and interrupted calls count like all others.

Where the module is not loaded, a BPF program counts at the kernel's own probes
(kprobe, and kprobe.multi for a GLOB), with --pid, --tid and --comm, but without
--if. What it misses is in the summary.

With --blocks a counter stands only in the blocks from which the others follow:
what goes into a junction of the flow comes out of it. Calls that are under way
at the beginning or at the end may make a computed count wrong by as many, which
--check shows. '?' is a count that neither a counter nor the flow tells.

The counters are a BPF map of type percpu_array named djprobe_count: 'bpftool
map dump name djprobe_count' shows it meanwhile.

The table goes to stdout, all else to stderr (also the output of COMMAND).
SIGUSR1 (kill -USR1 PID) shows the counts so far.
)";

void add_block_options(CLI::App& command, BlockOptions& options, bool& blocks) {
    CLI::Option* const by_block = command.add_flag(
        "--blocks", blocks, "Count the basic blocks of the functions, beside their instructions");
    CLI::Option* const by_line =
        command
            .add_flag("--lines", options.lines,
                      "Count the source lines of the functions, by debug information")
            ->excludes(by_block);
    for (const char* const option : {"--top", "--if", "--backend"})
        command.get_option(option)->excludes(by_block)->excludes(by_line);
    command.add_flag("--check", options.check,
                     "With --blocks or --lines: count each block, and tell which do not balance");
    add_source_options(command, options.debuginfo, options.source);
}

void check_block_options(const BlockOptions& options, bool blocks) {
    if (options.check && !blocks && !options.lines)
        fail(ExitCode::kUsage, "--check needs --blocks or --lines");
    if ((options.debuginfo || options.source) && !options.lines)
        fail(ExitCode::kUsage, "--debuginfo and --source need --lines");
    if (options.json && options.source)
        fail(ExitCode::kUsage, "--source: -j shows no text of the source");
}

void add_options(CLI::App& command, CountOptions& options) {
    command
        .add_option_function<std::vector<std::string>>(
            "SITE",
            [&options](const std::vector<std::string>& texts) {
                for (const std::string& text : texts) {
                    const SiteSpec site = parse_site(with_brackets(text));
                    if (std::ranges::find(options.sites, site) == options.sites.end())
                        options.sites.push_back(site);
                }
            },
            "SYM, SYM+OFFSET, MODULE:SYM, 0xADDRESS, or a GLOB: the entries of all functions of "
            "such a name")
        ->type_name("")
        ->required();
    add_counting_options(command, options);
    add_number(command, "--top", options.top, "Show so many, the highest counts (default 20)", 1,
               1'000'000);
    command.add_flag("-j,--json", options.json, "Counts and summary as NDJSON");
    options.backend = Backend::kAuto;
    add_backend(command, options.backend);
}

}  // namespace

void add_counting_options(CLI::App& command, CountOptions& options) {
    add_watch_options(command, options);
    command
        .add_option("-i,--interval", options.interval,
                    "Show it so often (default: each second on a terminal, else only at the end)")
        ->type_name("SECONDS")
        ->check(positive);
    command
        .add_option(
            "--if", options.conditions,
            "Only hits for which this holds: 'count > 4096 && edx != -1', with arguments "
            "of the function, arg1 to arg6, registers (rdi, edi), or memory that the instruction "
            "itself reads or writes (0x18(%rdi):4)")
        ->type_name("CONDITIONS")
        ->check(not_empty);
    add_task_filter(command, options.tasks);
    command.add_flag_callback(
        "--int3", [&options] { options.mode = DJPROBE_MODE_INT3; }, "Never a jump");
}

Command counting_command(CLI::App* command, std::function<int()> run) {
    return {command,
            std::move(run),
            {ExitCode::kOk, ExitCode::kFailure, ExitCode::kUsage, ExitCode::kNotLoaded,
             ExitCode::kAbiMismatch, ExitCode::kNoPermission, ExitCode::kNoSuchSite,
             ExitCode::kRefusedSite, ExitCode::kBusySite, ExitCode::kCommandFailed}};
}

Command add_count(CLI::App& app) {
    CLI::App* const command =
        app.add_subcommand("count", "Count the calls of functions, or hits of instructions");
    command->footer(kCountFooter);
    const auto options = std::make_shared<BlockOptions>();
    const auto blocks = std::make_shared<bool>(false);
    add_options(*command, *options);
    add_block_options(*command, *options, *blocks);
    Command count = counting_command(command, [options, blocks] {
        check_block_options(*options, *blocks);
        return *blocks || options->lines ? run_count_blocks(*options) : run_count(*options);
    });
    // Of debug information; of the program for the kernel's own probes.
    count.codes.insert(std::ranges::find(count.codes, ExitCode::kNotLoaded),
                       {ExitCode::kBadFile, ExitCode::kRejected});
    return count;
}

}  // namespace djprobe::loader
