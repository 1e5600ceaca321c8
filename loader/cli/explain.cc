// SPDX-License-Identifier: GPL-2.0
#include "cli/explain.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/output.h"
#include "cli/image_options.h"
#include "kernel/device.h"
#include "kernel/reason.h"
#include "survey/analysis.h"
#include "survey/explain.h"

namespace djprobe::loader {
namespace {

constexpr const char* kExplainFooter = R"(Examples:
  probeload explain vfs_read
      the function's entry in the running kernel (needs root; arms nothing)
  probeload explain vfs_read+0x2b --vmlinux vmlinux --symbols kallsyms
      a site of a kernel image, with a copy of its /proc/kallsyms
  probeload explain ext4:ext4_readdir
      a function in a module of the running kernel

On the running kernel with the module loaded, the module is asked too: its
answer counts. Every verdict is a success (0), that it is refused included.
)";

struct ExplainOptions {
    std::optional<SiteSpec> site;
    ImageOptions image;
    bool json = false;
};

struct ExplainedPlace {
    std::uint64_t start;
    std::string_view module;  ///< "" for the kernel itself
};

[[noreturn]] void refuse(const SiteSpec& site, djprobe_reason why, std::uint64_t first,
                         std::uint64_t second, Symbolizer& symbolizer) {
    throw refusal(site, "", AbiReason{static_cast<std::uint32_t>(why), {first, second}}, 0,
                  symbolizer);
}

/// Where the site's symbol begins, or the address itself; and the module that it lies in.
ExplainedPlace resolve(const SiteSpec& site, const KernelImage& image, Symbolizer& symbolizer) {
    if (site.symbol.empty()) {
        const Symbol* const below = image.symbols().at_or_below(site.address);
        return {site.address, below ? below->module : ""};
    }
    const auto symbols = image.symbols().find(site.symbol);
    if (symbols.empty()) refuse(site, DJPROBE_REASON_NO_SUCH_SYMBOL, 0, 0, symbolizer);
    if (symbols.size() > 1)
        refuse(site, DJPROBE_REASON_AMBIGUOUS_SYMBOL, symbols[0].address, symbols[1].address,
               symbolizer);
    return {symbols[0].address, symbols[0].module};
}

/// The address that the module would take for it; see DJPROBE_IOC_ATTACH.
std::uint64_t locate(const SiteSpec& site, std::uint64_t start, const TextMap& map,
                     Symbolizer& symbolizer) {
    const std::size_t function = map.find(start);
    const Range range = map.functions()[function].code.range();
    const std::uint64_t address = start + site.offset;
    if (!range.contains(address))
        refuse(site, DJPROBE_REASON_PAST_END, range.begin, range.end, symbolizer);
    return address == range.begin ? map.entry(function) : address;
}

/// The module's answer, unless it is not loaded.
std::optional<djprobe_explain> ask_module(const SiteSpec& site, Symbolizer& symbolizer) {
    try {
        return Device::open().explain(site, symbolizer);
    } catch (const Error& error) {
        if (error.code() == ExitCode::kNotLoaded) return std::nullopt;
        // The module answers so for an address that is no text at all.
        if (error.code() != ExitCode::kRefusedSite) throw;
        djprobe_explain answer = {};
        answer.verdict = DJPROBE_VERDICT_REFUSED;
        answer.reason = DJPROBE_REASON_NOT_TEXT;
        return answer;
    }
}

/// Why the analysis knows nothing of a place.
djprobe::Reason why_outside(const KernelImage& image, std::string_view module,
                            std::uint64_t address) {
    if (module == "djprobe") return djprobe::Reason::OWN_TEXT;
    const auto begin = image.address_of("_sinittext"), end = image.address_of("_einittext");
    const bool init = begin && end && address >= *begin && address < *end;
    return init ? djprobe::Reason::INIT_TEXT : djprobe::Reason::NOT_TEXT;
}

// "_text+OFFSET" by its address.
SiteSpec by_address(const SiteSpec& asked, const KernelImage& image) {
    const auto text = image.address_of(kTextSymbol), end = image.address_of("_etext");
    const bool is_in_text = text && end && asked.offset < *end - *text;
    if (!asked.is_counted_from_text() || !is_in_text) return asked;
    return {"", 0, *text + asked.offset};
}

Explanation explain(const SiteSpec& given, KernelImage& image, Symbolizer& symbolizer) {
    const SiteSpec asked = by_address(given, image);
    const auto [start, module] = resolve(asked, image, symbolizer);
    const std::uint64_t place = start + asked.offset;
    const std::list<Analysis> texts = analyse_near(image, module, {{place, place + 1}});
    if (texts.empty() || texts.front().map.find(start) == texts.front().map.functions().size()) {
        Explanation outside = explain_outside(place, why_outside(image, module, place), symbolizer);
        if (image.is_live()) outside.module = ask_module(asked, symbolizer);
        return outside;
    }
    const TextMap& map = texts.front().map;
    SiteSpec site;
    site.address = locate(asked, start, map, symbolizer);
    const std::size_t function = map.find(site.address);
    const Mainline mainline(image, map);
    Explanation inside = explain_site(map, mainline, symbolizer, function, site.address);
    if (image.is_live()) inside.module = ask_module(site, symbolizer);
    return inside;
}

int run_explain_verb(const ExplainOptions& options) {
    if (!options.site) fail(ExitCode::kUsage, "SITE is required (see --help)");
    options.image.check_module(options.site->symbol);
    KernelImage image = options.image.open();
    Symbolizer symbolizer(image.symbols(), options.image.name());
    Explanation explanation = explain(*options.site, image, symbolizer);
    explanation.source = options.image.name();
    if (explanation.module && explanation.module->reason)
        explanation.module_reason = describe_reason(reason_of(*explanation.module), symbolizer);
    Output output(STDOUT_FILENO);
    output.print(options.json ? explain_json(explanation) : explain_text(explanation));
    return static_cast<int>(ExitCode::kOk);
}

}  // namespace

Command add_explain(CLI::App& app) {
    CLI::App* const command =
        app.add_subcommand("explain", "Show why a site gets a jump, an int3 or nothing");
    command->footer(kExplainFooter);
    const auto options = std::make_shared<ExplainOptions>();
    const auto take = [options](const std::string& text) {
        options->site = parse_one_function(text, "explain", "survey --functions");
    };
    auto* const site =
        command->add_option_function<std::string>("SITE", take, "[MODULE:]SYM[+OFFSET]")
            ->type_name("");
    auto* const function =
        command->add_option_function<std::string>("-f,--func", take, "The same, as for attach")
            ->type_name("SYM[+OFF]")
            ->excludes(site);
    command
        ->add_option_function<std::string>(
            "--address",
            [options](const std::string& text) { options->site = parse_address(text); },
            "A kernel address instead")
        ->type_name("0xADDRESS")
        ->excludes(site)
        ->excludes(function);
    add_image_options(*command, options->image);
    command->add_flag("-j,--json", options->json, "One object of JSON");
    return {command,
            [options] { return run_explain_verb(*options); },
            {ExitCode::kOk, ExitCode::kFailure, ExitCode::kUsage, ExitCode::kBadFile,
             ExitCode::kAbiMismatch, ExitCode::kNoPermission, ExitCode::kNoSuchSite}};
}

}  // namespace djprobe::loader
