// SPDX-License-Identifier: GPL-2.0
#include "cli/lines.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/output.h"
#include "cli/source_options.h"
#include "debuginfo/listed_lines.h"
#include "debuginfo/source_text.h"
#include "kernel/site_spec.h"

namespace djprobe::loader {
namespace {

constexpr const char* kLinesFooter = R"(Examples:
  probeload lines vfs_read
      the lines of a function, with the instructions at which each begins
  probeload lines vfs_read --source linux-6.12
      beside the text of the source
  probeload lines ext4:ext4_readdir -j | jq -c '[.line, .sites[].site]'
      of a module, as JSON

A line that was inlined stands there once for each place, with its function's
name in brackets. Behind a site stands how it would be probed: by jump, by int3,
or that it is refused; nothing where the module is not loaded. 'probeload trace
FILE:LINE' and 'probeload trace FUNC+OFFSET' show the variables there.
)";

struct LinesOptions {
    SiteSpec function;
    std::optional<std::string> debuginfo, source;
    bool json = false;
};

int run_lines_verb(const LinesOptions& options) {
    if (options.json && options.source)
        fail(ExitCode::kUsage, "--source: -j shows no text of the source");
    SourceText source(options.source);
    const std::string& symbol = options.function.symbol;
    const std::vector<LineSites> lines = listed_lines(symbol, options.debuginfo);
    Output(STDOUT_FILENO)
        .print(options.json ? lines_json(symbol, lines) : lines_text(symbol, lines, source));
    return static_cast<int>(ExitCode::kOk);
}

}  // namespace

Command add_lines(CLI::App& app) {
    CLI::App* const command =
        app.add_subcommand("lines", "List a function's lines with the instructions of each");
    command->footer(kLinesFooter);
    const auto options = std::make_shared<LinesOptions>();
    command
        ->add_option_function<std::string>(
            "SYM",
            [options](const std::string& text) {
                options->function = parse_one_function(text, "lines", "count --lines");
                if (options->function.offset != 0)
                    fail(ExitCode::kUsage,
                         "{0}: lines takes a whole function, {1}; 'probeload explain {0}' shows "
                         "one place",
                         text, options->function.symbol);
            },
            "SYM or MODULE:SYM")
        ->type_name("")
        ->required();
    add_source_options(*command, options->debuginfo, options->source);
    command->add_flag("-j,--json", options->json, "NDJSON: a line for each line");
    return {command,
            [options] { return run_lines_verb(*options); },
            {ExitCode::kOk, ExitCode::kFailure, ExitCode::kUsage, ExitCode::kBadFile,
             ExitCode::kNoSuchSite}};
}

}  // namespace djprobe::loader
