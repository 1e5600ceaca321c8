// SPDX-License-Identifier: GPL-2.0
#include "cli/survey.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <thread>

#include "base/error.h"
#include "base/output.h"
#include "cli/image_options.h"
#include "survey/survey.h"

namespace djprobe::loader {
namespace {

constexpr const char* kFooter = R"(Examples:
  probeload survey
      every instruction of the running kernel (needs root; arms nothing)
  probeload survey --entry --vmlinux vmlinux --symbols kallsyms
      every function's entry, in a kernel image with a copy of its /proc/kallsyms
  probeload survey --functions 'tcp_*' -j
      one line of JSON for each instruction of these functions, then a summary

Percentages are of the probeable sites: those that get a jump or an int3. Of the kernel's own text;
modules are not surveyed.
)";

struct SurveyOptions {
    SurveyScope scope;
    std::string glob;
    ImageOptions image;
    bool all = false;
    bool json = false;
};

int run(SurveyOptions& options) {
    if (!options.glob.empty()) options.scope.glob = options.glob;
    const KernelImage image = options.image.open();
    const TextFacts facts = read_facts(image);
    const TextMap map(image, facts);
    const Mainline mainline(image, map);
    Output output(STDOUT_FILENO);
    const unsigned threads = std::clamp(std::thread::hardware_concurrency(), 1u, 2u);
    const SurveyCounts counts =
        run_survey(map, mainline, options.scope, threads, options.json ? &output : nullptr);
    if (options.scope.glob && counts.functions == 0)
        fail(ExitCode::kNoSuchSite, "no function is named like '{}'", *options.scope.glob);
    const std::string kernel = options.image.name();
    const std::string summary =
        options.json ? summary_json(counts, kernel) : summary_text(counts, kernel);
    output.buffer().append(summary.data(), summary.data() + summary.size());
    output.flush();
    return static_cast<int>(ExitCode::kOk);
}

}  // namespace

Command add_survey(CLI::App& app) {
    CLI::App* const command =
        app.add_subcommand("survey", "Say of many sites whether they get a jump, and why not");
    command->footer(kFooter);
    const auto options = std::make_shared<SurveyOptions>();
    auto* const all = command->add_flag("--all", options->all, "Every instruction (default)");
    auto* const glob = command->add_option("--functions", options->glob,
                                           "Only functions whose name matches (as in a shell)");
    glob->type_name("GLOB")->excludes(all);
    command->add_flag("--entry", options->scope.entries_only, "Only each function's entry")
        ->excludes(all);
    command->add_option("--sample", options->scope.sample, "Only so many sites, chosen at random")
        ->type_name("N")
        ->check(CLI::PositiveNumber);
    command->add_option("--seed", options->scope.seed, "Of the random choice (default 1)")
        ->type_name("N")
        ->check(CLI::NonNegativeNumber);
    add_image_options(*command, options->image);
    command->add_flag("-j,--json", options->json, "NDJSON: a line for each site, then a summary");
    return {command, [options] { return run(*options); }};
}

}  // namespace djprobe::loader
