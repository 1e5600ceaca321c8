// SPDX-License-Identifier: GPL-2.0
#include "blocks/chosen_functions.h"

#include <fmt/core.h>

#include <unordered_set>

#include "base/error.h"
#include "base/plural.h"
#include "kernel/addresses.h"
#include "kernel/glob.h"
#include "kernel/reason.h"
#include "kernel/rights.h"

namespace djprobe::loader {
namespace {

[[noreturn]] void refuse(const SiteSpec& site, const Refusal& why, Symbolizer& symbolizer) {
    throw refusal(site, "", reason_of(why), 0, symbolizer);
}

[[noreturn]] void fail_within(const SiteSpec& site) {
    fail(ExitCode::kUsage, "'{}': a place within a function: give the function's name alone",
         site.str());
}

// Of several functions that have one name only their places tell which is meant.
Symbol function_at(const SiteSpec& site, const Kallsyms& kallsyms) {
    const std::optional<std::uint64_t> address = address_of(site, kallsyms);
    const Symbol* const found = address ? kallsyms.at_or_below(*address) : nullptr;
    if (!found) fail(ExitCode::kNoSuchSite, "{}: no function of the kernel is there", site.str());
    if (found->address != *address) fail_within(site);
    return *found;
}

Symbol find_one(const SiteSpec& site, const Kallsyms& kallsyms, Symbolizer& symbolizer) {
    if (site.symbol.empty() || site.is_counted_from_text()) return function_at(site, kallsyms);
    if (site.offset) fail_within(site);
    const std::vector<Symbol> found = kallsyms.find(site.symbol);
    if (found.empty()) refuse(site, Refusal{Reason::NO_SUCH_SYMBOL}, symbolizer);
    if (found.size() > 1)
        refuse(site, Refusal{Reason::AMBIGUOUS_SYMBOL, found[0].address, found[1].address},
               symbolizer);
    return found.front();
}

std::vector<Symbol> find_like(const std::string& pattern, const Kallsyms& kallsyms) {
    std::vector<Symbol> found = functions_like(kallsyms, pattern);
    if (found.empty()) fail_none_like(kallsyms, pattern);
    return found;
}

using Addresses = std::unordered_set<std::uint64_t>;

// Of all functions that were found those with blocks, once each; of those that were named there
// must be some.
void take(const SiteSpec& site, std::vector<FunctionFlow> flows, std::size_t wanted,
          ChosenFunctions& chosen, Addresses& known, Symbolizer& symbolizer) {
    if (flows.size() < wanted) {
        const Refusal outside{Reason::NOT_TEXT};
        if (!site.is_glob()) refuse(site, outside, symbolizer);
        chosen.left_out[DJPROBE_REASON_NOT_TEXT] += wanted - flows.size();
    }
    for (FunctionFlow& flow : flows) {
        if (flow.refused && !site.is_glob()) refuse(site, flow.refused, symbolizer);
        if (flow.refused)
            ++chosen.left_out[static_cast<std::uint32_t>(flow.refused.reason)];
        else if (known.insert(flow.address()).second)
            chosen.flows.push_back(std::move(flow));
    }
}

// What a user has named, and which functions that is.
struct NamedFunctions {
    SiteSpec site;
    std::vector<Symbol> functions;
};

std::vector<NamedFunctions> find_functions(const std::vector<SiteSpec>& sites,
                                           Symbolizer& symbolizer) {
    const Kallsyms& kallsyms = symbolizer.kallsyms();
    if (kallsyms.are_hidden())
        fail(ExitCode::kNoPermission, "/proc/kallsyms: addresses are hidden: {}", why_hidden());
    std::vector<NamedFunctions> named;
    named.reserve(sites.size());
    for (const SiteSpec& site : sites)
        named.push_back({site, site.is_glob() ? find_like(site.symbol, kallsyms)
                                              : std::vector{find_one(site, kallsyms, symbolizer)}});
    return named;
}

}  // namespace

ChosenFunctions choose_functions(const std::vector<SiteSpec>& sites, Symbolizer& symbolizer,
                                 const StopSignals& stop) {
    // Before the kernel's text is read, which takes a second.
    const std::vector<NamedFunctions> named = find_functions(sites, symbolizer);
    ChosenFunctions chosen{KernelImage::from_running_kernel(symbolizer.kallsyms())};
    Addresses known;
    for (const auto& [site, functions] : named)
        take(site, read_flows(chosen.image, functions, stop), functions.size(), chosen, known,
             symbolizer);
    if (chosen.flows.empty())
        fail(ExitCode::kRefusedSite, "'{}': all functions of such a name are refused: {}",
             sites.front().str(), reasons_text(chosen.left_out));
    return chosen;
}

std::string attached_blocks_line(const ChosenFunctions& chosen, const djprobe_total& total) {
    const std::uint64_t traps = total.states[DJPROBE_STATE_ARMED];
    std::string line = fmt::format("counting {} of {}", plural(total.count, "block"),
                                   plural(chosen.flows.size(), "function"));
    if (traps) line += fmt::format(", {} by int3", traps);
    if (!chosen.left_out.empty())
        line += fmt::format("; left out: {}", reasons_text(chosen.left_out));
    return line;
}

}  // namespace djprobe::loader
