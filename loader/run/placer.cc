// SPDX-License-Identifier: GPL-2.0
#include "run/placer.h"

#include <cerrno>
#include <cstring>

#include "kernel/reason.h"
#include "kernel/return_mode.h"

namespace djprobe::loader {
namespace {

// Not what would meet the next site as well.
bool is_of_site(std::uint32_t reason) {
    switch (reason) {
        case DJPROBE_REASON_NONE:
        case DJPROBE_REASON_NO_MEMORY:
        case DJPROBE_REASON_NO_INDEX:
        case DJPROBE_REASON_INTERRUPTED:
            return false;
        default:
            return true;
    }
}

}  // namespace

Way Placer::choose(const SiteSpec& site, bool at_returns) const {
    head_start_.await_module();
    // djprobe may have been switched off meanwhile: the kernel's probes count.
    if (!(device_.set_switches(0, 0) & DJPROBE_SWITCH_PROBES)) return {0, "switched-off"};
    return at_returns ? choose_return(site) : choose_entry(site);
}

// At a function's first byte the kernel's kprobe goes by ftrace, which costs less than an int3 of
// ours.
Way Placer::choose_entry(const SiteSpec& site) const {
    const djprobe_explain answer = device_.judge(site, 0);
    const bool by_trap =
        answer.verdict == DJPROBE_VERDICT_INT3 && options_.mode == DJPROBE_MODE_AUTO;
    const bool at_start = !site.symbol.empty() ? site.offset == 0 : answer.address != site.address;
    if (answer.verdict == DJPROBE_VERDICT_REFUSED || (by_trap && at_start))
        return {0, reason_name(answer.reason)};
    return {};
}

// One that jumps, else the first one that is not refused.
Way Placer::choose_return(const SiteSpec& site) const {
    std::optional<Way> by_trap;
    std::string refused;
    for (const std::uint32_t flags : return_ways(options_.return_mode)) {
        const djprobe_explain answer = device_.judge(site, flags);
        if (answer.verdict == DJPROBE_VERDICT_JUMP) return {flags, ""};
        if (answer.verdict == DJPROBE_VERDICT_INT3 && !by_trap) by_trap = Way{flags, ""};
        if (answer.verdict == DJPROBE_VERDICT_REFUSED) refused = reason_name(answer.reason);
    }
    return by_trap ? *by_trap : Way{0, refused};
}

Placed Placer::place(const std::vector<MultiTarget>& targets, const std::vector<Way>& ways,
                     const UniqueFd& program, std::uint32_t shown_as) const {
    std::vector<djprobe_site> sites(targets.size());
    for (std::size_t i = 0; i < sites.size(); ++i) {
        const SiteSpec& site = targets[i].site;
        if (!site.symbol.empty())
            sites[i].symbol = reinterpret_cast<std::uintptr_t>(site.symbol.c_str());
        sites[i].offset = site.offset;
        sites[i].address = site.address;
        sites[i].cookie = targets[i].cookie;
        sites[i].flags = ways[i].flags;
    }
    djprobe_attach_many request = {};
    request.mode = options_.mode;
    request.prog_fd = program.get();
    request.flags = shown_as;
    if (UniqueFd fd = device_.attach_sites(sites, request)) return {Probe(std::move(fd)), "", {}};
    const std::string why =
        request.reason ? reason_name(request.reason) : std::string(std::strerror(errno));
    if (is_of_site(request.reason) && request.failed < sites.size())
        return {{}, why, request.failed};
    return {{}, why, {}};
}

}  // namespace djprobe::loader
