// SPDX-License-Identifier: GPL-2.0
#include "cli/lines.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/output.h"
#include "base/plural.h"
#include "base/say.h"
#include "cli/source_options.h"
#include "debuginfo/debug_file.h"
#include "debuginfo/function_lines.h"
#include "debuginfo/inlined_index.h"
#include "kernel/device.h"
#include "kernel/glob.h"
#include "kernel/kallsyms.h"
#include "kernel/similar_names.h"

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

const char* how(const djprobe_explain& answer) {
    // Its module is not loaded, or another one is.
    if (answer.reason == DJPROBE_REASON_NO_SUCH_SYMBOL) return "";
    switch (answer.verdict) {
        case DJPROBE_VERDICT_JUMP:
            return "jump";
        case DJPROBE_VERDICT_REFUSED:
            return "refused";
        default:
            return "int3";
    }
}

// The lines can be read without the module, too.
std::optional<Device> open_device() {
    try {
        return Device::open();
    } catch (const Error& error) {
        say("probeload: how the sites can be probed is not shown: {}\n", error.what());
        return std::nullopt;
    }
}

// The module that is named or, where only a module has such a function, that one; "" is the kernel.
std::string module_of(const std::string& symbol) {
    if (names_module(symbol)) return symbol.substr(0, symbol.find(':'));
    const Kallsyms kallsyms = Kallsyms::read();
    const std::vector<Symbol> found = kallsyms.find(symbol);
    const auto differs = [&](const Symbol& one) { return one.module != found.front().module; };
    const bool is_one = !found.empty() && std::ranges::none_of(found, differs);
    return is_one ? std::string(found.front().module) : "";
}

// The file, or why there is none. What is misspelt needs none.
std::string find_lines(const LinesOptions& options, const std::string& module) {
    try {
        return find_debug_file(module, options.debuginfo);
    } catch (const Error&) {
        const std::string& symbol = options.function.symbol;
        const Kallsyms kallsyms = Kallsyms::read();
        const std::string unloaded = missing_module(kallsyms, symbol);
        if (!unloaded.empty()) fail(ExitCode::kNoSuchSite, "{}: {}", symbol, unloaded);
        const std::string hint = hint_at(kallsyms, symbol);
        if (hint.empty() || !functions_like(kallsyms, symbol).empty()) throw;
        fail(ExitCode::kNoSuchSite, "{}: no such function{}", symbol, hint);
    }
}

[[noreturn]] void fail_without_lines(const DwarfFile& debug, const SiteSpec& asked,
                                     const std::string& function) {
    const std::size_t copies = InlinedIndex::of(debug).find(function).size();
    if (copies == 0)
        fail(ExitCode::kNoSuchSite, "{}: {} has no lines of such a function", asked.symbol,
             debug.path());
    fail(ExitCode::kNoSuchSite,
         "{}: it was inlined in {}, and has no code of its own: see them with 'probeload trace "
         "--inline {}'",
         asked.symbol, plural(copies, "place"), asked.symbol);
}

int run_lines_verb(const LinesOptions& options) {
    if (options.json && options.source)
        fail(ExitCode::kUsage, "--source: -j shows no text of the source");
    SourceText source(options.source);
    const std::string& symbol = options.function.symbol;
    const std::string module = module_of(symbol);
    const std::string function = names_module(symbol) ? symbol.substr(module.size() + 1) : symbol;
    const DwarfFile debug = DwarfFile::open(find_lines(options, module));
    std::vector<StatementSite> statements = sites_of(debug, function);
    if (statements.empty()) fail_without_lines(debug, options.function, function);
    if (!module.empty())
        for (StatementSite& site : statements)
            site.place.symbol = module + ":" + site.place.symbol;
    const std::optional<Device> device = open_device();
    const auto lines = lines_of(statements, [&](const SymbolPlace& place) -> std::string {
        return device ? how(device->judge({place.symbol, place.offset, 0}, 0)) : "";
    });
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
