// SPDX-License-Identifier: GPL-2.0
#include "cli/explain.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
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

constexpr const char* kFooter = R"(Examples:
  probeload explain vfs_read
      the function's entry in the running kernel (needs root; arms nothing)
  probeload explain vfs_read+0x2b --vmlinux vmlinux --symbols kallsyms
      a site of a kernel image, with a copy of its /proc/kallsyms
  probeload explain ext4:ext4_readdir
      a function in a module of the running kernel

On the running kernel with the module loaded, the module is asked too: its answer counts.
)";

struct ExplainOptions {
    SiteSpec site;
    ImageOptions image;
    bool json = false;
};

struct Place {
    std::uint64_t start;
    std::string_view module;  ///< "" for the kernel itself
};

[[noreturn]] void refuse(const SiteSpec& site, djprobe_reason why, std::uint64_t first,
                         std::uint64_t second, Symbolizer& symbolizer) {
    throw refusal(site, "", Reason{static_cast<std::uint32_t>(why), {first, second}}, 0,
                  symbolizer);
}

/// Where the site's symbol begins, or the address itself; and the module that it lies in.
Place resolve(const SiteSpec& site, const KernelImage& image, Symbolizer& symbolizer) {
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
    if (function == map.functions().size()) refuse(site, DJPROBE_REASON_NOT_TEXT, 0, 0, symbolizer);
    const Range range = map.functions()[function].code.range();
    const std::uint64_t address = start + site.offset;
    if (!range.contains(address))
        refuse(site, DJPROBE_REASON_PAST_END, range.begin, range.end, symbolizer);
    return address == range.begin ? map.entry(function) : address;
}

/// The module's answer, unless it is not loaded.
std::optional<djprobe_explain> ask_module(std::uint64_t address, Symbolizer& symbolizer) {
    try {
        SiteSpec site;
        site.address = address;
        return Device::open().explain(site, symbolizer);
    } catch (const Error& error) {
        if (error.code() == ExitCode::kNotLoaded) return std::nullopt;
        throw;
    }
}

int run(const ExplainOptions& options) {
    const bool live = options.image.is_live();
    KernelImage image = options.image.open();
    // A copy that views into the image's symbols, which outlive it.
    Symbolizer symbolizer(image.symbols());
    const auto [start, module] = resolve(options.site, image, symbolizer);
    const std::list<Analysis> texts = analyse_near(image, module, start + options.site.offset);
    if (texts.empty())
        refuse(options.site,
               module == "djprobe" ? DJPROBE_REASON_OWN_TEXT : DJPROBE_REASON_NOT_TEXT, 0, 0,
               symbolizer);
    const TextMap& map = texts.front().map;
    const std::uint64_t address = locate(options.site, start, map, symbolizer);
    const std::size_t function = map.find(address);
    const Mainline mainline(image, map, function);
    Explanation explanation = explain_site(map, mainline, symbolizer, function, address);
    explanation.source = options.image.name();
    if (live) explanation.module = ask_module(address, symbolizer);
    if (explanation.module && explanation.module->reason)
        explanation.module_reason =
            describe_reason({explanation.module->reason,
                             {explanation.module->detail[0], explanation.module->detail[1]}},
                            symbolizer);
    Output output(STDOUT_FILENO);
    const std::string text = options.json ? explain_json(explanation) : explain_text(explanation);
    output.buffer().append(text.data(), text.data() + text.size());
    output.flush();
    return static_cast<int>(ExitCode::kOk);
}

}  // namespace

Command add_explain(CLI::App& app) {
    CLI::App* const command =
        app.add_subcommand("explain", "Show why a site gets a jump, an int3 or nothing");
    command->footer(kFooter);
    const auto options = std::make_shared<ExplainOptions>();
    auto* const place = command->add_option_group("site")->require_option(1);
    const auto take = [options](const std::string& text) { options->site = parse_function(text); };
    place->add_option_function<std::string>("SITE", take, "[MODULE:]SYM[+OFFSET]")->type_name("");
    place->add_option_function<std::string>("-f,--func", take, "The same, as for attach")
        ->type_name("SYM[+OFF]");
    place
        ->add_option_function<std::string>(
            "--address",
            [options](const std::string& text) { options->site = parse_address(text); },
            "A kernel address")
        ->type_name("0xADDRESS");
    add_image_options(*command, options->image);
    command->add_flag("-j,--json", options->json, "One object of JSON");
    return {command, [options] { return run(*options); }};
}

}  // namespace djprobe::loader
