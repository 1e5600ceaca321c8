// SPDX-License-Identifier: GPL-2.0
#include "session/attachment.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/progress.h"
#include "kernel/addresses.h"
#include "kernel/glob.h"
#include "kernel/reason.h"
#include "kernel/return_mode.h"
#include "kernel/rights.h"
#include "session/site_memory.h"
#include "session/site_names.h"

namespace djprobe::loader {
namespace {

std::string function_name(const SiteSpec& site, Symbolizer& symbolizer) {
    if (!site.symbol.empty()) return site.symbol;
    std::string name = symbolizer.describe(site.address);
    if (name.ends_with("+0x0")) name.resize(name.size() - 4);
    return name;
}

// Of a function that is counted from the kernel's first byte the module takes its address.
SiteSpec whole_function(const SiteSpec& site, Symbolizer& symbolizer) {
    if (!site.is_counted_from_text()) return site;
    const std::optional<std::uint64_t> address = address_of(site, symbolizer.kallsyms());
    if (!address)
        fail(ExitCode::kNoPermission,
             "{}: its returns need its address, which /proc/kallsyms does not show: {}", site.str(),
             why_hidden());
    return {"", 0, *address};
}

// The modes to try, the better one first.
std::vector<std::uint32_t> ways_to_attach(const Target& target, const AttachOptions& options) {
    if (!target.at_returns) return {0};
    if (target.entry) return {kShadow};
    return return_ways(options.return_mode.value_or(ReturnMode::kAuto));
}

// Which way each function is attached, where there is a choice.
std::vector<ManySite> probeable(const std::string& pattern, const std::vector<Symbol>& functions,
                                const std::vector<std::uint32_t>& ways, const Device& device,
                                Symbolizer& symbolizer, const StopSignals& stop,
                                ReasonCounts& left_out) {
    std::vector<ManySite> sites;
    Progress progress("looking at functions like '" + pattern + "'", functions.size());
    std::size_t done = 0;
    for (const Symbol& function : functions) {
        stop.check();
        progress.at(done++);
        SiteSpec site;
        // A name may be that of several functions.
        site.address = function.address;
        djprobe_explain answer = {};
        for (const std::uint32_t way : ways) {
            try {
                answer = device.explain(site, symbolizer, way);
            } catch (const Error& error) {
                if (error.code() == ExitCode::kNoPermission) {
                    // Not this function's fault: the message names what was asked for.
                    const std::string why = std::string(error.what()).substr(site.str().size());
                    fail(error.code(), "{}{}", pattern, why);
                }
                if (error.code() != ExitCode::kRefusedSite) throw;
                // Since its name was read, its module has been unloaded.
                answer = {};
                answer.reason = DJPROBE_REASON_MODULE_GONE;
            }
            if (answer.verdict == DJPROBE_VERDICT_REFUSED) continue;
            sites.push_back({function.address, way});
            break;
        }
        if (answer.verdict == DJPROBE_VERDICT_REFUSED) ++left_out[answer.reason];
    }
    return sites;
}

// So that progress shows, and a stop is heard: a batch takes some tenths of a second.
constexpr std::size_t kBatch = 4096;

// Between reading its name and attaching its module has been unloaded.
std::uint32_t told_reason(const RefusedSite& refused) {
    return refused.reason == DJPROBE_REASON_NOT_TEXT ? std::uint32_t{DJPROBE_REASON_MODULE_GONE}
                                                     : refused.reason;
}

// Attaches what is not refused; the counters of a batch follow those of the one before. A stop
// takes all back.
std::optional<Probe> attach_in_batches(std::span<const ManySite> sites, AttachRequest request,
                                       std::size_t batch, const Device& device,
                                       Symbolizer& symbolizer, const StopSignals& stop,
                                       AttachmentReport& about) {
    std::optional<Probe> all;
    Progress progress("attaching to functions like '" + about.name + "'", sites.size());
    for (std::size_t done = 0; done < sites.size(); done += batch) {
        stop.check();
        progress.at(done);
        const auto some = sites.subspan(done, std::min(batch, sites.size() - done));
        std::vector<RefusedSite> refused;
        std::optional<Probe> probe = device.attach_most(some, request, refused, symbolizer);
        if (request.flags & DJPROBE_ATTACH_COUNT) request.cookie += some.size();
        about.functions += some.size() - refused.size();
        about.shadows +=
            static_cast<std::size_t>(std::ranges::count(some, kShadow, &ManySite::flags));
        for (const RefusedSite& site : refused) {
            ++about.left_out[told_reason(site)];
            about.shadows -= some[site.index].flags == kShadow;
        }
        if (probe && all)
            all->append(std::move(*probe));
        else if (probe)
            all = std::move(probe);
    }
    return all;
}

Probe attach_like(const Target& target, const AttachOptions& options, const AttachRequest& request,
                  const Device& device, Symbolizer& symbolizer, const StopSignals& stop,
                  AttachmentReport& about) {
    const std::string& pattern = about.name;
    const std::vector<Symbol> functions = functions_like(symbolizer.kallsyms(), pattern);
    if (symbolizer.kallsyms().are_hidden()) {
        fail(ExitCode::kNoPermission, "'{}': /proc/kallsyms: addresses are hidden: {}", pattern,
             why_hidden());
    }
    if (functions.empty()) fail_none_like(symbolizer.kallsyms(), pattern);
    const std::vector<std::uint32_t> ways = ways_to_attach(target, options);
    std::vector<ManySite> sites;
    if (ways.size() > 1)
        sites = probeable(pattern, functions, ways, device, symbolizer, stop, about.left_out);
    else
        std::ranges::transform(functions, std::back_inserter(sites), [&](const Symbol& function) {
            // A name may be that of several functions.
            return ManySite{function.address, ways.front()};
        });
    check_site_memory(pattern, "functions", sites.size(), request.flags & DJPROBE_ATTACH_COUNT);
    // The functions of one request share the memory for calls that are under way.
    const std::size_t batch = target.at_returns ? DJPROBE_MANY_MAX : kBatch;
    if (auto probe = attach_in_batches(sites, request, batch, device, symbolizer, stop, about))
        return std::move(*probe);
    fail(ExitCode::kRefusedSite, "'{}': all functions of such a name are refused: {}", pattern,
         reasons_text(about.left_out));
}

// Neither mode takes the function: the reason of one says nothing about the other.
void refuse_both(const SiteSpec& site, const Device& device, Symbolizer& symbolizer) {
    const djprobe_explain exact = device.explain(site, symbolizer, kExact);
    const djprobe_explain shadow = device.explain(site, symbolizer, kShadow);
    const auto is_refused = [](const djprobe_explain& answer) {
        return answer.verdict == DJPROBE_VERDICT_REFUSED;
    };
    if (!is_refused(exact) || !is_refused(shadow) || exact.reason == shadow.reason) return;
    const auto words = [&](const djprobe_explain& answer) {
        return describe_reason(reason_of(answer), symbolizer);
    };
    fail(ExitCode::kRefusedSite, "{}: refused: {}; in shadow mode: {}", site.str(), words(exact),
         words(shadow));
}

// `shadow`: whether shadow mode it is.
Probe attach_at_returns(const Target& target, const AttachOptions& options, AttachRequest request,
                        const Device& device, Symbolizer& symbolizer, bool& shadow) {
    const std::vector<std::uint32_t> ways = ways_to_attach(target, options);
    for (std::size_t i = 0;; ++i) {
        shadow = ways[i] == kShadow;
        request.flags = ways[i];
        if (target.entry) request.flags |= DJPROBE_ATTACH_SESSION;
        try {
            return device.attach(target.site, request, symbolizer);
        } catch (const Error& error) {
            if (error.code() != ExitCode::kRefusedSite) throw;
            if (i + 1 < ways.size()) continue;
            if (ways.size() > 1) refuse_both(target.site, device, symbolizer);
            throw;
        }
    }
}

}  // namespace

Attachment Attachment::attach(const Target& target, const AttachOptions& options,
                              const Device& device, Symbolizer& symbolizer,
                              const StopSignals& stop) {
    stop.check();
    AttachRequest request{target.program.fd(), target.program.name, options.cookie, options.mode};
    request.actions = target.conditions;
    AttachmentReport about;
    about.program = target.program.name;
    if (target.site.is_glob()) {
        about.covers = Covers::kGlob;
        about.name = target.site.symbol;
        about.at_returns = target.at_returns;
        about.top = options.top;
        if (target.entry) {
            request.flags = DJPROBE_ATTACH_SESSION;
            request.entry_prog_fd = target.entry->fd();
        }
        request.pattern = about.name;
        Probe probe = attach_like(target, options, request, device, symbolizer, stop, about);
        return {std::move(about), std::move(probe)};
    }
    if (target.at_returns) {
        Target function = target;
        function.site = whole_function(target.site, symbolizer);
        about.covers = Covers::kReturns;
        about.name = function_name(function.site, symbolizer);
        if (target.entry) request.entry_prog_fd = target.entry->fd();
        Probe probe =
            attach_at_returns(function, options, request, device, symbolizer, about.shadow);
        return {std::move(about), std::move(probe)};
    }
    return {std::move(about), device.attach(target.site, request, symbolizer)};
}

Attachment Attachment::attach_counters(const SiteSpec& site, const Counters& counters,
                                       djprobe_mode mode, const Device& device,
                                       Symbolizer& symbolizer, const StopSignals& stop) {
    stop.check();
    AttachRequest request{counters.map_fd, "", counters.first, mode, DJPROBE_ATTACH_COUNT};
    request.actions = counters.actions;
    AttachmentReport about;
    if (!site.is_glob()) return {std::move(about), device.attach(site, request, symbolizer)};
    about.covers = Covers::kGlob;
    about.name = site.symbol;
    request.pattern = about.name;
    const Target target{{}, site, false};
    Probe probe = attach_like(target, {}, request, device, symbolizer, stop, about);
    return {std::move(about), std::move(probe)};
}

Attachment Attachment::attach_actions(const Place& place, const Counters& counters,
                                      djprobe_mode mode, const Device& device,
                                      Symbolizer& symbolizer, const StopSignals& stop) {
    stop.check();
    AttachRequest request{counters.map_fd, "", counters.first, mode, DJPROBE_ATTACH_COUNT};
    request.actions = counters.actions;
    request.times_fd = counters.times_fd;
    AttachmentReport about;
    if (place.at_returns) {
        const SiteSpec function = whole_function(place.site, symbolizer);
        about.covers = Covers::kReturns;
        about.name = function_name(function, symbolizer);
        request.flags |= kExact;
        return {std::move(about), device.attach(function, request, symbolizer)};
    }
    return {std::move(about), device.attach(place.site, request, symbolizer)};
}

bool Attachment::settling() const {
    return probe_.total().states[DJPROBE_STATE_OPTIMIZING] != 0;
}

Attachment::Attachment(AttachmentReport about, Probe probe)
    : about_(std::move(about)), probe_(std::move(probe)) {
    if (about_.covers != Covers::kGlob) names_ = probe_.queries(true);
}

void Attachment::complete(AttachmentReport& report, Symbolizer& symbolizer) const {
    report.total.hits = 0;
    std::ranges::fill(report.total.missed, 0);
    auto probe = report.probes.begin();
    probe_.visit([&](const ProbeState& ended) {
        probe->hits = ended.hits;
        report.total.hits += ended.hits;
        for (std::size_t kind = 0; kind < std::size(ended.missed); ++kind) {
            probe->missed[kind] = ended.missed[kind];
            report.total.missed[kind] += ended.missed[kind];
        }
        ++probe;
    });
    // Their symbols were read in the search for functions like the pattern. The kernel would look
    // for each of them once more.
    if (about_.covers == Covers::kGlob) name_gone(symbolizer.kallsyms(), report.probes);
}

AttachmentReport Attachment::report() const {
    AttachmentReport report = about_;
    report.probes = probe_.queries(false);
    copy_names(names_, report.probes);
    report.total = probe_.total();
    return report;
}

AttachmentReport Attachment::snapshot(Symbolizer& symbolizer) const {
    AttachmentReport report = this->report();
    if (about_.covers == Covers::kGlob) name_gone(symbolizer.kallsyms(), report.probes);
    return report;
}

}  // namespace djprobe::loader
