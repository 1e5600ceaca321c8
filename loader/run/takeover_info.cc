// SPDX-License-Identifier: GPL-2.0
// BPF_OBJ_GET_INFO_BY_FD of a link.
#include <linux/bpf.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include "run/attributes.h"
#include "run/takeover.h"

namespace djprobe::loader {
namespace {

// As the kernel's, which count from 1.
constexpr std::uint32_t kFirstLinkId = 1u << 30;

// What the kernel's own probes would have missed, too: it has other counters for a program that
// does not run because of another one.
std::uint64_t missed_of(const Placement& link) {
    std::uint64_t sum = 0;
    for (const ProbeState& probe : link.probe.queries(false))
        for (std::size_t kind = 0; kind < std::size(probe.missed); ++kind)
            sum += kind == DJPROBE_MISS_BPF_BUSY ? 0 : probe.missed[kind];
    return sum;
}

// What a function may begin with: the landing place of indirect calls, and ftrace's call.
constexpr std::uint64_t kEndbr = 4, kFtraceCall = 5;

}  // namespace

Answer Takeover::tell_link(const Notification& call, const ToolTask& task) {
    struct Query {
        std::uint32_t fd, size;
        std::uint64_t info;
    };
    const auto query = read_all<Query>(call, task);
    const auto known = query ? find_link(task, static_cast<int>(query->fd)) : std::nullopt;
    if (!known) return Answer::go_on();
    if (!info_sizes_) info_sizes_ = running_link_info_sizes();
    const Placement& link = *ledger_.find(known->placement);
    LinkFacts facts = {kFirstLinkId + static_cast<std::uint32_t>(known->event), link.program_id,
                       facts_of(link, task.may_see_addresses())};
    std::uint32_t size = query->size;
    if (const int error = tell_link_info(task, *info_sizes_, query->info, size, facts))
        return Answer::fail(error);
    const std::uint64_t size_at = call.argument(1) + offsetof(Query, size);
    return task.write(size_at, &size, sizeof size) ? Answer::succeed(0) : Answer::fail(EFAULT);
}

std::variant<MultiFacts, EventFacts> Takeover::facts_of(const Placement& link, bool shown) {
    const std::uint64_t missed = missed_of(link);
    const MultiRequest& multi = link.multi;
    if (multi.targets.empty()) {
        const EventRequest& event = link.event;
        const std::uint64_t address = shown ? address_of(event.site) : 0;
        return EventFacts{event.at_returns,
                          event.site.symbol,
                          static_cast<std::uint32_t>(event.site.offset),
                          address,
                          missed,
                          link.cookie};
    }
    MultiFacts facts = {
        multi.at_returns ? std::uint32_t{BPF_F_KPROBE_MULTI_RETURN} : 0, missed, {}, {}};
    for (const MultiTarget& target : in_kernels_order(multi)) {
        facts.addresses.push_back(shown ? target.site.address : 0);
        facts.cookies.push_back(target.cookie);
    }
    return facts;
}

// The kernel's probe of a whole function is behind the landing place, djprobe's behind ftrace's
// call, too.
std::uint64_t Takeover::address_of(const SiteSpec& site) {
    const std::uint64_t ours = device_.judge(site, 0).address;
    if (ours == 0) return 0;
    const std::uint64_t start = names_.start_of(ours);
    const std::uint64_t offset = site.symbol.empty() ? site.address - start : site.offset;
    if (offset != 0) return start + offset;
    const bool lands = ours == start + kEndbr || ours == start + kEndbr + kFtraceCall;
    return lands ? start + kEndbr : start;
}

std::uint64_t Takeover::start_of(const SiteSpec& function) {
    const SiteSpec place = names_.by_address(function);
    return place.symbol.empty() ? place.address : names_.start_of(device_.judge(place, 0).address);
}

// The kernel sorts names, and behind that the functions of a link with cookies by address.
std::vector<MultiTarget> Takeover::in_kernels_order(const MultiRequest& multi) {
    std::vector<MultiTarget> targets = multi.targets;
    if (!targets.front().site.symbol.empty())
        std::ranges::sort(targets, {}, [](const MultiTarget& one) { return one.site.symbol; });
    for (MultiTarget& target : targets)
        target.site.address = start_of(target.site);
    if (multi.has_cookies)
        std::ranges::stable_sort(targets, {},
                                 [](const MultiTarget& one) { return one.site.address; });
    return targets;
}

}  // namespace djprobe::loader
