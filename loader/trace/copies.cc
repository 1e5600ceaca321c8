// SPDX-License-Identifier: GPL-2.0
#include "trace/copies.h"

#include <algorithm>

namespace djprobe::loader {

std::vector<StatementSite> begins_of(const StatementSite& begin, std::vector<StatementSite> copies,
                                     const std::function<SiteSpec(const SymbolPlace&)>& site_of,
                                     const SiteFlow& flow) {
    const auto runs_instead_of = [&](const StatementSite& one, const StatementSite& other) {
        return flow.runs_instead_of(site_of(one.place), site_of(other.place));
    };
    const auto never_runs_without = [&](const StatementSite& one, const StatementSite& other) {
        return flow.never_runs_without(site_of(one.place), site_of(other.place));
    };
    std::erase_if(copies, [&](const StatementSite& one) { return !runs_instead_of(one, begin); });
    std::vector<StatementSite> begins{begin};
    for (const StatementSite& copy : copies) {
        // Further on in another copy.
        const bool is_part = std::ranges::any_of(copies, [&](const StatementSite& other) {
            return other.address != copy.address && never_runs_without(copy, other) &&
                   !never_runs_without(other, copy);
        });
        const auto runs_instead = [&](const StatementSite& other) {
            return runs_instead_of(copy, other);
        };
        if (!is_part && std::ranges::all_of(begins, runs_instead)) begins.push_back(copy);
    }
    return begins;
}

}  // namespace djprobe::loader
