// SPDX-License-Identifier: GPL-2.0
#include "session/targets.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace djprobe::loader {
namespace {

std::vector<SiteSpec> sites_of(const AttachOptions& options, const Program& program) {
    if (!options.sites.empty()) return options.sites;
    if (const auto site = site_of_section(program.section)) return {*site};
    fail(ExitCode::kUsage,
         "program '{}': its SEC(\"{}\") names no function: give --func SYM, or write "
         "SEC(\"{}/SYM\")",
         program.name, program.section, program.section.substr(0, program.section.find('/')));
}

void check_returns(const SiteSpec& site) {
    if (site.offset != 0) {
        fail(ExitCode::kUsage, "{}: returns are those of a whole function: name it without +{:#x}",
             site.str(), site.offset);
    }
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
    std::vector<Target> targets;
    for (const Program& program : programs) {
        const bool at_returns = options.at_returns || is_return_section(program.section);
        for (const SiteSpec& site : sites_of(options, program)) {
            if (at_returns) check_returns(site);
            targets.push_back({program, site, at_returns});
        }
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
