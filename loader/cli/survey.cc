// SPDX-License-Identifier: GPL-2.0
#include "cli/survey.h"

#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/output.h"
#include "cli/checks.h"
#include "cli/image_options.h"
#include "cli/number_option.h"
#include "kernel/glob.h"
#include "kernel/site_spec.h"
#include "survey/analysis.h"
#include "survey/returns.h"
#include "survey/survey.h"

namespace djprobe::loader {
namespace {

constexpr const char* kSurveyFooter = R"(Examples:
  probeload survey
      every instruction of the running kernel and its modules (needs root; arms
      nothing)
  probeload survey --entry --vmlinux vmlinux --symbols kallsyms
      every function's entry, in a kernel image with a copy of its
      /proc/kallsyms
  probeload survey --functions 'tcp_*' -j
      one line of JSON for each instruction of these functions, then a summary
  probeload survey --functions 'ext4:*'
      a module

  probeload survey --ret
      of every function how its returns can be probed

Percentages are of the probeable sites: those that get a jump or an int3; with
--ret of all functions. The running kernel's modules are surveyed with it.
)";

constexpr std::uint64_t kAny = std::numeric_limits<std::uint64_t>::max();

struct SurveyOptions {
    SurveyScope scope;
    std::string glob;
    ImageOptions image;
    bool all = false;
    bool returns = false;
    bool json = false;
};

void check_any(const SurveyOptions& options, const KernelImage& image, std::uint64_t functions) {
    if (options.scope.glob && functions == 0) fail_none_like(image.symbols(), *options.scope.glob);
}

std::string summarize_sites(const SurveyOptions& options, const KernelImage& image,
                            const std::list<Analysis>& texts, Output* lines) {
    std::list<Mainline> mainlines;
    std::vector<SurveyedText> surveyed;
    for (const Analysis& text : texts)
        surveyed.push_back({text.map, mainlines.emplace_back(image, text.map)});
    const unsigned threads = std::clamp(std::thread::hardware_concurrency(), 1u, 2u);
    const SurveyCounts counts = run_survey(surveyed, options.scope, threads, lines);
    check_any(options, image, counts.functions);
    const std::string kernel = options.image.name();
    return options.json ? summary_json(counts, kernel) : summary_text(counts, kernel);
}

std::string summarize_returns(const SurveyOptions& options, const KernelImage& image,
                              const std::list<Analysis>& texts, Output* lines) {
    std::vector<ReturnFinder> finders;
    for (const Analysis& text : texts)
        finders.emplace_back(image, text.map);
    const ReturnCounts counts = survey_returns(finders, options.scope, lines);
    check_any(options, image, counts.functions);
    return (options.json ? return_summary_json : return_summary_text)(counts, options.image.name());
}

int run_survey_verb(SurveyOptions& options) {
    if (!options.glob.empty()) options.scope.glob = options.glob;
    reject_source_place(options.glob);
    options.image.check_module(options.glob);
    KernelImage image = options.image.open();
    const std::list<Analysis> texts = analyse(image, options.scope.glob);
    Output output(STDOUT_FILENO);
    Output* const lines = options.json ? &output : nullptr;
    const std::string summary = options.returns ? summarize_returns(options, image, texts, lines)
                                                : summarize_sites(options, image, texts, lines);
    output.print(summary);
    return static_cast<int>(ExitCode::kOk);
}

}  // namespace

Command add_survey(CLI::App& app) {
    CLI::App* const command =
        app.add_subcommand("survey", "Say of many sites whether they get a jump, and why not");
    command->footer(kSurveyFooter);
    const auto options = std::make_shared<SurveyOptions>();
    auto* const all = command->add_flag("--all", options->all, "Every instruction (default)");
    auto* const glob = command->add_option("--functions", options->glob,
                                           "Only functions whose name matches (as in a shell)");
    glob->type_name("GLOB")->check(not_empty)->excludes(all);
    auto* const entry =
        command->add_flag("--entry", options->scope.entries_only, "Only each function's entry");
    entry->excludes(all);
    command->add_flag("--ret", options->returns, "How the returns of each function can be probed")
        ->excludes(all)
        ->excludes(entry);
    add_number(*command, "--sample", options->scope.sample,
               "Only so many sites (--ret: functions), at random", 1, kAny);
    add_number(*command, "--seed", options->scope.seed, "Of the random choice (default 1)", 1, kAny)
        ->needs("--sample");
    add_image_options(*command, options->image);
    command->add_flag("-j,--json", options->json,
                      "NDJSON: a line for each site (--ret: function), then a summary");
    return {command,
            [options] { return run_survey_verb(*options); },
            {ExitCode::kOk, ExitCode::kFailure, ExitCode::kUsage, ExitCode::kBadFile,
             ExitCode::kNoPermission, ExitCode::kNoSuchSite}};
}

}  // namespace djprobe::loader
