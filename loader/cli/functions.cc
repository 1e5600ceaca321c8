// SPDX-License-Identifier: GPL-2.0
#include "cli/functions.h"

#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "base/output.h"
#include "cli/checks.h"
#include "decode/quote.h"
#include "kernel/glob.h"
#include "kernel/kallsyms.h"
#include "kernel/prototypes.h"
#include "kernel/site_spec.h"

namespace djprobe::loader {
namespace {

constexpr const char* kFunctionsFooter = R"(Examples:
  probeload functions 'vfs_*'
      the kernel's functions of such a name, and those of its modules
  probeload functions 'ext4:*' -j | jq -r .prototype
      a module's

A line is a name as --func of attach takes it, and behind it the prototype in C
where the kernel's BTF has one. The BTF has none of functions that the compiler
has changed (NAME.isra.0) or whose namesakes differ. 'probeload explain NAME'
says whether one can be probed.
)";

struct FunctionsOptions {
    std::string glob = "*";
    bool json = false;
};

std::string line_of(const Symbol& function, const std::optional<std::string>& prototype,
                    bool json) {
    const std::string name = function.qualified_name();
    if (!json) return printable(prototype ? name + "  " + *prototype : name) + "\n";
    nlohmann::ordered_json line;
    line["type"] = "prototype";
    line["function"] = name;
    line["address"] = fmt::format("{:#x}", function.address);
    if (prototype) line["prototype"] = *prototype;
    return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

int run_functions_verb(const FunctionsOptions& options) {
    reject_source_place(options.glob);
    const Kallsyms kallsyms = Kallsyms::read();
    const std::vector<Symbol> functions = functions_like(kallsyms, options.glob);
    if (functions.empty()) fail_none_like(kallsyms, options.glob);
    Prototypes prototypes;
    Output output(STDOUT_FILENO);
    for (const Symbol& function : functions) {
        output.buffer().append(
            line_of(function, prototypes.find(function.module, function.name), options.json));
        output.flush_if_full();
        if (output.closed()) break;
    }
    output.flush();
    return static_cast<int>(ExitCode::kOk);
}

}  // namespace

Command add_functions(CLI::App& app) {
    CLI::App* const command =
        app.add_subcommand("functions", "List the kernel's functions and their prototypes");
    command->footer(kFunctionsFooter);
    const auto options = std::make_shared<FunctionsOptions>();
    command
        ->add_option("GLOB", options->glob,
                     "Only those of such a name (as in a shell); default all")
        ->type_name("")
        ->check(not_empty);
    command->add_flag("-j,--json", options->json, "NDJSON: a line for each function");
    return {command,
            [options] { return run_functions_verb(*options); },
            {ExitCode::kOk, ExitCode::kFailure, ExitCode::kUsage, ExitCode::kNoSuchSite}};
}

}  // namespace djprobe::loader
