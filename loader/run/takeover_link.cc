// SPDX-License-Identifier: GPL-2.0
// bpf()'s commands about links.
#include <bpf/bpf.h>
#include <linux/bpf.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <string_view>
#include <utility>

#include "run/attributes.h"
#include "run/takeover.h"

namespace djprobe::loader {
namespace {

// Since Linux 6.5 the kernel takes no more; it has fewer.
constexpr std::uint32_t kMostFunctions = 1u << 20;

// None: some of it cannot be read.
std::optional<MultiRequest> read_targets(const ToolTask& task, const LinkAttributes& link) {
    const auto& multi = link.multi;
    const auto places =
        task.read_numbers(multi.symbols ? multi.symbols : multi.addresses, multi.count);
    const auto cookies = multi.cookies ? task.read_numbers(multi.cookies, multi.count)
                                       : std::vector<std::uint64_t>(multi.count);
    if (!places || !cookies) return std::nullopt;
    MultiRequest request = {(multi.flags & BPF_F_KPROBE_MULTI_RETURN) != 0, multi.cookies != 0, {}};
    for (std::size_t i = 0; i < places->size(); ++i) {
        MultiTarget target = {{}, (*cookies)[i]};
        target.site.address = (*places)[i];
        if (multi.symbols) {
            auto name = task.read_string((*places)[i], 512);
            if (!name) return std::nullopt;
            target.site = {std::move(*name), 0, 0};
        }
        request.targets.push_back(std::move(target));
    }
    return request;
}

// The kernel looks for each name once.
bool has_twins(const MultiRequest& request) {
    std::set<std::pair<std::string_view, std::uint64_t>> known;
    return !std::ranges::all_of(request.targets, [&](const MultiTarget& target) {
        return known.insert({target.site.symbol, target.site.address}).second;
    });
}

}  // namespace

Answer Takeover::create_link(const Notification& call, const ToolTask& task) {
    if (!task.lends_memory(call.argument(1))) return leave(call, "unreadable");
    const auto bytes = read_attributes(call, task);
    if (!bytes) return Answer::go_on();
    const auto first = first_of<LinkAttributes>(*bytes);
    if (first.attach_type == BPF_PERF_EVENT && task.has_event(static_cast<int>(first.target_fd)))
        return link_event(call, task, first, *bytes);
    const auto link = parse_link(*bytes);
    if (!link) return Answer::go_on();
    const Decision decision = decide_link(*link);
    if (decision.side == Side::kOther) return Answer::go_on();
    if (decision.side == Side::kKernel)
        return leave_multi(call, task, *link, std::string(decision.reason));
    if (!task.lends_descriptors()) return leave(call, "own-descriptors", link->multi.count);
    if (!has_descriptors()) return leave_multi(call, task, *link, "no-descriptors");
    return link_multi(call, task, *link);
}

Answer Takeover::leave_multi(const Notification& call, const ToolTask& task,
                             const LinkAttributes& link, const std::string& reason) {
    const UniqueFd program = task.copy_fd(static_cast<int>(link.prog_fd));
    // What no kernel takes, or finds no memory for.
    if (!program || link.multi.count > kMostFunctions) return Answer::go_on();
    const auto request = read_targets(task, link);
    if (!request) return Answer::go_on();
    const std::size_t count = request->targets.size();
    if (!task.may_probe()) return leave(call, "no-permission", count);
    return try_multi(link, *request, program) ? Answer::go_on() : leave(call, reason, count);
}

Answer Takeover::give_link(Placement placement, std::uint64_t* kept) {
    placement.is_link = true;
    UniqueFd event = device_.make_event(DJPROBE_EVENT_LINK);
    const auto number = event ? event_number(event) : std::nullopt;
    if (!number || !hold(event, placement.probe)) return Answer::fail(ENOMEM);
    const std::uint64_t in_ledger = ledger_.add(std::move(placement));
    links_.insert_or_assign(*number, in_ledger);
    if (kept) *kept = in_ledger;
    return Answer::give(std::move(event), true);
}

void Takeover::Shares::move_to_rest(std::size_t index, const std::string& reason) {
    const auto at = static_cast<std::ptrdiff_t>(index);
    rest.targets.push_back(std::move(ours.targets[index]));
    ours.targets.erase(ours.targets.begin() + at);
    resolved.erase(resolved.begin() + at);
    ways.erase(ways.begin() + at);
    ++reasons[reason];
}

Takeover::Shares Takeover::share_out(const MultiRequest& request) {
    Shares shares;
    shares.ours.at_returns = shares.rest.at_returns = request.at_returns;
    shares.ours.has_cookies = shares.rest.has_cookies = request.has_cookies;
    for (const MultiTarget& target : request.targets) {
        const SiteSpec place = names_.by_address(target.site);
        const bool function = !place.symbol.empty() || names_.is_start(place.address);
        Way way = function ? placer_.choose(place, request.at_returns) : Way{0, "no-function"};
        if (way.refused.empty()) {
            shares.ours.targets.push_back(target);
            shares.resolved.push_back({place, target.cookie});
            shares.ways.push_back(std::move(way));
        } else {
            shares.rest.targets.push_back(target);
            ++shares.reasons[way.refused];
        }
    }
    return shares;
}

// None: the kernel is to have all.
std::optional<Probe> Takeover::place_shares(Shares& shares, const UniqueFd& program) const {
    while (!shares.ours.targets.empty()) {
        Placed placed =
            placer_.place(shares.resolved, shares.ways, program, DJPROBE_ATTACH_AS_MULTI);
        if (placed.probe) return std::move(placed.probe);
        if (placed.failed) {
            // What has changed since it was asked.
            shares.move_to_rest(*placed.failed, placed.refused);
            continue;
        }
        shares.reasons[placed.refused] += shares.ours.targets.size();
        break;
    }
    return std::nullopt;
}

Answer Takeover::link_multi(const Notification& call, const ToolTask& task,
                            const LinkAttributes& link) {
    UniqueFd program = task.copy_fd(static_cast<int>(link.prog_fd));
    auto request = read_targets(task, link);
    if (!call.is_valid()) return Answer::go_on();
    if (!program || !request) return Answer::go_on();
    const std::size_t count = request->targets.size();
    if (has_twins(*request)) return leave_multi(call, task, link, "odd-list");
    if (!task.may_probe()) return leave(call, "no-permission", count);
    // Tools ask by trial whether there are such links. What is not ours would have no place.
    if (!names_.has("register_fprobe_ips")) return Answer::go_on();
    Shares shares = share_out(*request);
    std::optional<Probe> probe = place_shares(shares, program);
    const std::string first = shares.reasons.empty() ? "" : shares.reasons.begin()->first;
    // What the kernel refuses, it says itself, and it places nothing.
    const bool asks = !first.empty() && (options_.strict || !probe);
    if (asks && try_multi(link, *request, program)) return Answer::go_on();
    if (!first.empty() && forbids(call, first)) return Answer::fail(EACCES);
    Placement placement;
    if (probe && !shares.rest.targets.empty()) {
        // Both end with the tool's link. Where it cannot be, the kernel has all, or says what is
        // wrong.
        const UniqueFd rest = link_kernel_multi(shares.rest, program);
        if (!rest || !keep(*probe, rest)) return Answer::go_on();
    }
    for (const auto& [reason, functions] : shares.reasons)
        ledger_.count_kernel(reason, functions);
    if (!probe) return Answer::go_on();
    placement.probe = std::move(*probe);
    placement.program_id = program_id(program);
    placement.program = std::move(program);
    placement.multi = std::move(*request);
    return give_link(std::move(placement));
}

std::optional<Takeover::Link> Takeover::find_link(const ToolTask& task, int fd) const {
    if (!task.has_event(fd)) return std::nullopt;
    const auto event = event_number(task.copy_fd(fd));
    const auto known = event ? links_.find(*event) : links_.end();
    if (known == links_.end()) return std::nullopt;
    return ledger_.find(known->second) ? std::optional(Link{*event, known->second}) : std::nullopt;
}

// A pinned link outlives the tool: the kernel's own comes in place of ours.
Answer Takeover::pin_link(const Notification& call, const ToolTask& task) {
    struct Pin {
        std::uint64_t path;
        std::uint32_t fd, flags;
    };
    const auto pin = read_first<Pin>(call, task);
    const auto link = pin ? find_link(task, static_cast<int>(pin->fd)) : std::nullopt;
    if (!link) return Answer::go_on();
    if (forbids(call, "pinned")) return Answer::fail(EACCES);
    const auto fd = static_cast<int>(pin->fd);
    const std::size_t probes = ledger_.find(link->placement)->probes();
    const UniqueFd kernels = yield(link->placement).file;
    if (!kernels || !call.replace(fd, kernels, task.closes_on_exec(fd))) return Answer::fail(errno);
    ledger_.count_kernel("pinned", probes);
    // Its event is the tool's still, and takes no program as long as the link lives.
    for (auto& [number, event] : events_)
        if (event.placement == link->placement) event.pinned = link_id(kernels);
    return Answer::go_on();
}

// Links of these kinds have no other program for their own: the descriptors that are none are told
// first.
Answer Takeover::update_link(const Notification& call, const ToolTask& task) {
    struct Update {
        std::uint32_t fd, new_program, flags, old_program;
    };
    const auto update = read_all<Update>(call, task);
    if (!update || !find_link(task, static_cast<int>(update->fd))) return Answer::go_on();
    const bool replaces = update->flags == BPF_F_REPLACE;
    if (update->flags && !replaces) return Answer::fail(EINVAL);
    const UniqueFd program = task.copy_fd(static_cast<int>(update->new_program));
    if (!program) return Answer::fail(EBADF);
    if (program_id(program) == 0 || !replaces) return Answer::fail(EINVAL);
    return Answer::fail(task.copy_fd(static_cast<int>(update->old_program)) ? EINVAL : EBADF);
}

// Neither kind of link can be detached.
Answer Takeover::detach_link(const Notification& call, const ToolTask& task) {
    const auto fd = read_all<std::uint32_t>(call, task);
    return fd && find_link(task, static_cast<int>(*fd)) ? Answer::fail(EOPNOTSUPP)
                                                        : Answer::go_on();
}

}  // namespace djprobe::loader
