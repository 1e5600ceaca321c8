// SPDX-License-Identifier: GPL-2.0
#include "session/targets.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/error.h"
#include "base/say.h"

namespace djprobe::loader {
namespace {

std::vector<SiteSpec> sites_given(const AttachOptions& options, const Program& program) {
    if (program.places.empty()) return options.sites;
    std::vector<SiteSpec> sites;
    for (const std::string& place : program.places)
        sites.push_back(parse_site(place));
    return sites;
}

void check_returns(const SiteSpec& site) {
    if (site.offset != 0 && !site.is_counted_from_text()) {
        fail(ExitCode::kUsage, "{}: returns are those of a whole function: {}", site.str(),
             site.whole_function_advice());
    }
}

Target target_at(const AttachOptions& options, const Program& program, const SiteSpec& site,
                 bool by_section) {
    const bool at_returns = options.at_returns || is_return_section(program.section);
    if (at_returns) check_returns(site);
    return {program, site, at_returns, by_section};
}

// The words of the section alone would not tell which of many programs has it.
Target target_by_section(const AttachOptions& options, const Program& program) {
    try {
        if (const auto site = site_of_section(program.section))
            return target_at(options, program, *site, true);
    } catch (const Error& error) {
        fail(error.code(), "program '{}', SEC(\"{}\"): {}", program.name, program.section,
             error.what());
    }
    fail(ExitCode::kUsage,
         "program '{0}': its SEC(\"{1}\") names no function: give --func SYM or --at {0}=SYM, or "
         "write SEC(\"{2}/SYM\")",
         program.name, program.section, type_of_section(program.section));
}

void add_by_section(const AttachOptions& options, const Program& program,
                    std::vector<Target>& targets) {
    try {
        targets.push_back(target_by_section(options, program));
    } catch (const Error& error) {
        if (!options.skip_unsupported) throw;
        say("probeload: left out: {}\n", error.what());
    }
}

// Of programs that nothing binds to its own place only the two ends of a function go to one.
void check_several(const AttachOptions& options, const std::vector<Program>& programs) {
    if (options.sites.empty() || options.session || !options.programs.empty()) return;
    std::vector<Program> unbound;
    std::ranges::copy_if(programs, std::back_inserter(unbound),
                         [](const Program& program) { return program.places.empty(); });
    const auto returns = std::ranges::count_if(
        unbound, [](const Program& program) { return is_return_section(program.section); });
    const bool is_pair = unbound.size() == 2 && returns == 1 && !options.at_returns;
    if (unbound.size() < 2 || is_pair) return;
    fail(ExitCode::kUsage,
         "several programs: choose one with --prog, or bind each to its place with --at "
         "PROG=SITE: {}",
         program_list(unbound));
}

// What runs at the entry of a function belongs to what runs at its returns.
std::vector<Target> pair_up(const AttachOptions& options, std::vector<Target> targets) {
    if (options.return_mode == ReturnMode::kExact)
        fail(ExitCode::kUsage, "--session: is in shadow mode always: leave out --ret-mode exact");
    std::vector<Target> sessions, entries;
    for (Target& target : targets)
        (target.at_returns ? sessions : entries).push_back(std::move(target));
    for (Target& session : sessions) {
        const auto entry = std::ranges::find(entries, session.site.str(),
                                             [](const Target& at) { return at.site.str(); });
        if (entry == entries.end()) {
            fail(ExitCode::kUsage,
                 "--session: no program for the entry of '{}', to go with '{}': SEC(\"kprobe\")",
                 session.site.str(), session.program.name);
        }
        session.entry = std::move(entry->program);
        entries.erase(entry);
    }
    if (!entries.empty()) {
        fail(ExitCode::kUsage,
             "--session: no program for the return of '{}', to go with '{}': SEC(\"kretprobe\")",
             entries.front().site.str(), entries.front().program.name);
    }
    return sessions;
}

}  // namespace

std::vector<Target> choose_targets(const AttachOptions& options,
                                   const std::vector<Program>& programs) {
    if (options.session && options.at_returns)
        fail(ExitCode::kUsage,
             "--session has a program at the entry and one at the returns: leave out --ret, which "
             "makes all of them programs for returns");
    check_several(options, programs);
    std::vector<Target> targets;
    for (const Program& program : programs) {
        const std::vector<SiteSpec> sites = sites_given(options, program);
        for (const SiteSpec& site : sites)
            targets.push_back(target_at(options, program, site, false));
        if (sites.empty()) add_by_section(options, program, targets);
    }
    if (options.return_mode &&
        std::ranges::none_of(targets, [](const Target& target) { return target.at_returns; })) {
        fail(
            ExitCode::kUsage,
            "--ret-mode: nothing is attached at returns: add --ret, or use SEC(\"kretprobe/SYM\")");
    }
    if (options.session) targets = pair_up(options, std::move(targets));
    return targets;
}

}  // namespace djprobe::loader
