// SPDX-License-Identifier: GPL-2.0
#include "cli/cover.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>

#include "base/error.h"
#include "cli/checks.h"
#include "cli/source_options.h"
#include "cli/task_options.h"
#include "cli/watch_options.h"
#include "cli/words.h"
#include "cover/cover_session.h"

namespace djprobe::loader {
namespace {

constexpr const char* kCoverFooter = R"(Examples:
  probeload cover 'ext4_read*' -c 'ls /mnt'
      how much of each function runs, what runs least first
  probeload cover vfs_read --annotate -d 5
      with each block beside its instructions
  probeload cover 'ext4_*' --once -d 600
      of a busy system: what has run costs nothing from then on
  probeload cover 'tcp_*' --lcov tcp.info --source linux-6.12 -c ./run
      for genhtml tcp.info; needs debug information (linux-image-RELEASE-dbg)

The kernel is neither rebuilt nor restarted. Counters stand in as few blocks as
tell the rest, see 'probeload count --help'. '3?' says that of three blocks
neither a counter nor the flow of control tells whether they have run. With
--once each block has a counter of its own.

SIGUSR1 (kill -USR1 PID) shows the table so far. How COMMAND ended is told, and
is the exit status with --exit-status.
)";

void add_options(CLI::App& command, CoverOptions& options) {
    command
        .add_option_function<std::vector<std::string>>(
            "FUNCTION",
            [&options](const std::vector<std::string>& texts) {
                for (const std::string& text : texts) {
                    const SiteSpec site = parse_site(with_brackets(text));
                    if (std::ranges::find(options.sites, site) == options.sites.end())
                        options.sites.push_back(site);
                }
            },
            "SYM, MODULE:SYM, the 0xADDRESS of one, or a GLOB: all functions of such a name")
        ->type_name("")
        ->required();
    add_watch_options(command, options);
    command.add_flag("--lines", options.lines,
                     "Lines of the source, too, by debug information; what needs them implies it");
    add_source_options(command, options.debuginfo, options.source);
    command.add_flag("--once", options.once,
                     "Take each counter out once its block has run: the counts say no more then "
                     "than whether");
    CLI::Option* const annotate =
        command.add_flag("--annotate", options.annotate,
                         "Show each block beside its instructions, or each line, with its count");
    command
        .add_option("--lcov", options.lcov,
                    "Write the lines to a file that genhtml reads; - is stdout")
        ->type_name("FILE")
        ->check(not_empty);
    command
        .add_option("--pcs", options.pcs,
                    "Write the addresses of the blocks that ran, one a line; - is stdout")
        ->type_name("FILE")
        ->check(not_empty);
    add_task_filter(command, options.tasks);
    command.add_flag_callback(
        "--int3", [&options] { options.mode = DJPROBE_MODE_INT3; }, "Never a jump");
    command.add_flag("-j,--json", options.json, "The coverage as NDJSON")->excludes(annotate);
}

// Also by another way there: "a" and "./a". Neither has to exist.
bool is_same_file(const std::string& one, const std::string& other) {
    std::error_code unknown;
    const auto whole = [&](const std::string& name) {
        return std::filesystem::weakly_canonical(std::filesystem::absolute(name, unknown), unknown);
    };
    return one == other || whole(one) == whole(other);
}

void check_reports(const CoverOptions& options) {
    if (options.lcov == "-" && options.pcs == "-")
        fail(ExitCode::kUsage, "--lcov and --pcs: only one of them can go to stdout");
    if (options.source && !options.annotate && !options.lcov)
        fail(ExitCode::kUsage, "--source: is for what has lines: add --annotate or --lcov");
    if (options.lcov && options.pcs && is_same_file(*options.lcov, *options.pcs))
        fail(ExitCode::kUsage, "--lcov and --pcs: each needs a file of its own, and both name {}",
             *options.lcov);
    if (options.json && (options.lcov == "-" || options.pcs == "-"))
        fail(ExitCode::kUsage, "--json: stdout is that of {} -",
             options.lcov == "-" ? "--lcov" : "--pcs");
}

int run_cover_verb(CoverOptions& options) {
    check_reports(options);
    options.lines |= options.lcov || options.source || options.debuginfo;
    // Shown once, at the end.
    options.interval = 0;
    return run_cover(options);
}

}  // namespace

Command add_cover(CLI::App& app) {
    CLI::App* const command =
        app.add_subcommand("cover", "Show which blocks and lines of functions run");
    command->footer(kCoverFooter);
    const auto options = std::make_shared<CoverOptions>();
    add_options(*command, *options);
    return {command,
            [options] { return run_cover_verb(*options); },
            {ExitCode::kOk, ExitCode::kFailure, ExitCode::kUsage, ExitCode::kBadFile,
             ExitCode::kNotLoaded, ExitCode::kAbiMismatch, ExitCode::kNoPermission,
             ExitCode::kNoSuchSite, ExitCode::kRefusedSite, ExitCode::kBusySite,
             ExitCode::kCommandFailed}};
}

}  // namespace djprobe::loader
