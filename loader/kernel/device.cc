// SPDX-License-Identifier: GPL-2.0
#include "kernel/device.h"

#include <fcntl.h>
#include <linux/membarrier.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <memory>

#include "base/error.h"
#include "kernel/reason.h"
#include "kernel/rights.h"

namespace djprobe::loader {
namespace {

constexpr std::size_t kWithoutNames = offsetof(djprobe_query, symbol);

[[noreturn]] void fail_open(const char* path, const char* module, int error) {
    switch (error) {
        case ENOENT:
        case ENXIO:
        case ENODEV:
            if (access(module, F_OK) == 0)
                fail(ExitCode::kNotLoaded,
                     "no {}: the module is loaded, but this /dev does not show its device, as in a "
                     "container, or a unit with PrivateDevices=: bind it there",
                     path);
            fail(ExitCode::kNotLoaded,
                 "no {}: load the module first (modprobe djprobe, or insmod djprobe.ko)", path);
        case EACCES:
        case EPERM:
            fail(ExitCode::kNoPermission, "{}: not permitted: {}", path,
                 why_not_opened(path, kToProbe));
        default:
            fail(ExitCode::kFailure, "{}: {}", path, std::strerror(error));
    }
}

// Requests may be added without a new ABI, which is for those that change.
void check_known(int error) {
    if (error != ENOTTY) return;
    fail(ExitCode::kAbiMismatch,
         "the loaded module is older than probeload: unload it and load the new one (rmmod "
         "djprobe, modprobe djprobe)");
}

[[noreturn]] void fail_request(const char* what, int error) {
    check_known(error);
    fail(ExitCode::kFailure, "{}: {}", what, std::strerror(error));
}

// A module without actions finds bytes that it does not know; one that has them for counters only
// refuses others, without a word.
void check_actions_known(int error, const djprobe_attach_many& answer) {
    const bool is_wordless = error == EINVAL && answer.reason == DJPROBE_REASON_NONE;
    if (error == E2BIG || (is_wordless && !(answer.flags & DJPROBE_ATTACH_COUNT)))
        check_known(ENOTTY);
}

djprobe_attach_many many_of(const AttachRequest& request) {
    djprobe_attach_many attach = {};
    attach.mode = request.mode;
    attach.prog_fd = request.prog_fd;
    attach.flags = request.flags;
    attach.entry_prog_fd = request.entry_prog_fd;
    if (!request.actions.empty())
        attach.actions = reinterpret_cast<std::uintptr_t>(request.actions.data());
    attach.action_count = static_cast<std::uint32_t>(request.actions.size());
    attach.times_fd = request.times_fd;
    return attach;
}

std::uint64_t cookie_of(const AttachRequest& request, std::size_t site) {
    return request.flags & DJPROBE_ATTACH_COUNT ? counter_name(request.cookie + site)
                                                : request.cookie;
}

djprobe_total total_of(const UniqueFd& fd) {
    djprobe_total total = {};
    total.size = sizeof total;
    if (ioctl(fd.get(), DJPROBE_IOC_TOTAL, &total) < 0) fail_request("querying the probe", errno);
    return total;
}

/// Calls look(answer) for the first `entry` bytes of each, up to `most` of a call to the module.
template <class Look>
void query_some(const UniqueFd& fd, std::size_t entry, std::size_t most, Look&& look) {
    // Not a vector: of room for many answers few pages are touched where there are few.
    const auto room = std::make_unique_for_overwrite<std::byte[]>(most * entry);
    djprobe_query_many request = {};
    do {
        request.size = sizeof request;
        request.first += request.count;
        request.count = static_cast<std::uint32_t>(most);
        request.entry_size = static_cast<std::uint32_t>(entry);
        request.queries = reinterpret_cast<std::uintptr_t>(room.get());
        if (ioctl(fd.get(), DJPROBE_IOC_QUERY_MANY, &request) < 0) {
            if (errno == ERANGE) return;  // the call before had the last ones
            fail_request("querying the probes", errno);
        }
        for (std::size_t i = 0; i < request.count; ++i)
            look(room.get() + i * entry);
    } while (request.count == most);
}

std::string text_of(std::span<const char> name) {
    return {name.data(), strnlen(name.data(), name.size())};
}

ProbeState state_of(const djprobe_query& query) {
    ProbeState state = {.state = query.state,
                        .mechanism = query.mechanism,
                        .reason = query.reason,
                        .tactic = query.tactic,
                        .displaced_len = query.displaced_len,
                        .flags = query.flags,
                        .detail = {query.detail[0], query.detail[1]},
                        .address = query.address,
                        .offset = query.offset,
                        .cookie = query.cookie,
                        .hits = query.hits,
                        .anchor = query.anchor,
                        .symbol = text_of(query.symbol),
                        .module = text_of(query.module)};
    std::ranges::copy(query.missed, state.missed);
    std::ranges::copy(query.displaced, state.displaced);
    return state;
}

}  // namespace

void check_abi(std::uint32_t module_abi) {
    if (module_abi == DJPROBE_ABI_VERSION) return;
    fail(ExitCode::kAbiMismatch,
         "the loaded module speaks ABI {}, this probeload ABI {}: build and load both from the "
         "same source",
         module_abi, DJPROBE_ABI_VERSION);
}

Device Device::open(const char* path, const char* module) {
    UniqueFd fd(::open(path, O_RDWR | O_CLOEXEC));
    if (!fd) fail_open(path, module, errno);

    djprobe_info info = {};
    info.size = sizeof info;
    if (ioctl(fd.get(), DJPROBE_IOC_INFO, &info) < 0) {
        // A module of another ABI may not even know this request.
        if (errno == ENOTTY || errno == EINVAL || errno == E2BIG) {
            fail(ExitCode::kAbiMismatch,
                 "{} does not answer as djprobe ABI {} ({}): build and load module and probeload "
                 "from the same source",
                 path, DJPROBE_ABI_VERSION, std::strerror(errno));
        }
        fail_open(path, module, errno);
    }
    check_abi(info.abi_version);
    return Device(std::move(fd));
}

Probe Device::attach_acting(const SiteSpec& site, const AttachRequest& request,
                            Symbolizer& symbolizer) const {
    std::vector<djprobe_site> sites(1);
    if (!site.symbol.empty())
        sites[0].symbol = reinterpret_cast<std::uintptr_t>(site.symbol.c_str());
    sites[0].offset = site.offset;
    sites[0].address = site.address;
    sites[0].cookie = cookie_of(request, 0);
    sites[0].flags = request.flags & DJPROBE_ATTACH_RETURN;
    djprobe_attach_many attach = many_of(request);
    attach.flags &= ~DJPROBE_ATTACH_RETURN;
    if (UniqueFd fd = attach_sites(sites, attach)) return Probe(std::move(fd));
    const int error = errno;
    check_actions_known(error, attach);
    AbiReason reason = reason_of(attach);
    if (reason.detail[0] < request.actions.size())
        reason.action = request.actions[reason.detail[0]];
    throw refusal(site, request.prog_name, reason, error, symbolizer);
}

Probe Device::attach(const SiteSpec& site, const AttachRequest& request,
                     Symbolizer& symbolizer) const {
    if (!request.actions.empty()) return attach_acting(site, request, symbolizer);
    djprobe_attach attach = {};
    attach.size = sizeof attach;
    if (!site.symbol.empty()) attach.symbol = reinterpret_cast<std::uintptr_t>(site.symbol.c_str());
    attach.offset = site.offset;
    attach.address = site.address;
    attach.cookie = cookie_of(request, 0);
    attach.prog_fd = request.prog_fd;
    attach.mode = request.mode;
    attach.flags = request.flags;
    attach.entry_prog_fd = request.entry_prog_fd;
    const int fd = ioctl(fd_.get(), DJPROBE_IOC_ATTACH, &attach);
    if (fd < 0) {
        throw refusal(site, request.prog_name, reason_of(attach), errno, symbolizer);
    }
    return Probe(UniqueFd(fd));
}

std::optional<Probe> Device::attach_most(std::span<const ManySite> sites,
                                         const AttachRequest& request,
                                         std::vector<RefusedSite>& refused,
                                         Symbolizer& symbolizer) const {
    std::vector<djprobe_site> named(sites.size());
    for (std::size_t i = 0; i < sites.size(); ++i) {
        named[i].address = sites[i].address;
        named[i].flags = sites[i].flags;
        named[i].cookie = cookie_of(request, i);
    }
    djprobe_attach_many attach = many_of(request);
    attach.flags |= DJPROBE_ATTACH_SKIP;
    UniqueFd fd = attach_sites(named, attach);
    const int error = errno;
    for (std::size_t i = 0; i < named.size(); ++i)
        if (named[i].flags & DJPROBE_SITE_LEFT_OUT) refused.push_back({i, named[i].reason});
    if (fd) return Probe(std::move(fd));
    check_known(error);
    if (!request.actions.empty()) check_actions_known(error, attach);
    // A module without SKIP finds a flag that it does not know, and says nothing more.
    if (error == EINVAL && attach.reason == DJPROBE_REASON_NONE) check_known(ENOTTY);
    if (refused.size() == sites.size()) return std::nullopt;
    SiteSpec site;
    site.symbol = request.pattern;
    site.address = (attach.failed < sites.size() ? sites[attach.failed] : sites.front()).address;
    throw refusal(site, request.prog_name, reason_of(attach), error, symbolizer);
}

UniqueFd Device::attach_sites(std::vector<djprobe_site>& sites,
                              djprobe_attach_many& request) const {
    request.size = sizeof request;
    request.sites = reinterpret_cast<std::uintptr_t>(sites.data());
    request.count = static_cast<std::uint32_t>(sites.size());
    return UniqueFd(ioctl(fd_.get(), DJPROBE_IOC_ATTACH_MANY, &request));
}

UniqueFd Device::make_event(djprobe_event_kind kind) const {
    return UniqueFd(ioctl(fd_.get(), DJPROBE_IOC_EVENT, static_cast<unsigned long>(kind)));
}

bool Device::ask(const SiteSpec& site, std::uint32_t flags, djprobe_explain& explain) const {
    explain.size = sizeof explain;
    explain.flags = flags;
    if (!site.symbol.empty())
        explain.symbol = reinterpret_cast<std::uintptr_t>(site.symbol.c_str());
    explain.offset = site.offset;
    explain.address = site.address;
    return ioctl(fd_.get(), DJPROBE_IOC_EXPLAIN, &explain) == 0;
}

djprobe_explain Device::judge(const SiteSpec& site, std::uint32_t flags) const {
    djprobe_explain explain = {};
    if (!ask(site, flags, explain)) explain.verdict = DJPROBE_VERDICT_REFUSED;
    return explain;
}

djprobe_explain Device::explain(const SiteSpec& site, Symbolizer& symbolizer,
                                std::uint32_t flags) const {
    djprobe_explain explain = {};
    if (!ask(site, flags, explain)) throw refusal(site, "", reason_of(explain), errno, symbolizer);
    return explain;
}

std::size_t Device::read_text(std::uint64_t address, std::span<std::uint8_t> bytes) const {
    std::size_t done = 0;
    while (done < bytes.size()) {
        djprobe_text text = {};
        text.size = sizeof text;
        text.length = std::min<std::size_t>(bytes.size() - done, DJPROBE_TEXT_MAX);
        text.address = address + done;
        text.bytes = reinterpret_cast<std::uintptr_t>(bytes.data() + done);
        if (ioctl(fd_.get(), DJPROBE_IOC_TEXT, &text) < 0) break;
        done += text.length;
    }
    return done;
}

std::uint32_t Device::set_switches(std::uint32_t change, std::uint32_t on) const {
    djprobe_switch request = {};
    request.size = sizeof request;
    request.change = change;
    request.on = on;
    if (ioctl(fd_.get(), DJPROBE_IOC_SWITCH, &request) == 0) return request.on;
    if (request.reason == DJPROBE_REASON_LOCKDOWN)
        fail(ExitCode::kNoPermission, "kernel lockdown forbids probes: they stay off");
    if (errno == EPERM)
        fail(ExitCode::kNoPermission, "switching the probes of all: not permitted: {}",
             why_denied({Capability::kSysAdmin}));
    if (errno == ENOMEM)
        fail(ExitCode::kFailure,
             "jumps stay on: at int3 the probes that count would take more than half of the memory "
             "that is free: free some, or end some of them ('probeload list')");
    fail_request("switching", errno);
}

std::optional<std::uint64_t> event_number(const UniqueFd& event) {
    std::uint64_t number = 0;
    if (ioctl(event.get(), DJPROBE_IOC_NUMBER, &number) != 0) return std::nullopt;
    return number;
}

bool hold(const UniqueFd& event, const Probe& probe) {
    djprobe_hold request = {};
    request.size = sizeof request;
    request.probe_fd = probe.fd();
    return ioctl(event.get(), DJPROBE_IOC_HOLD, &request) == 0;
}

bool keep(const Probe& probe, const UniqueFd& file) {
    djprobe_keep request = {};
    request.size = sizeof request;
    request.fd = file.get();
    return ioctl(probe.fd(), DJPROBE_IOC_KEEP, &request) == 0;
}

std::vector<std::string> what_is_off(std::uint32_t on) {
    std::vector<std::string> lines;
    if (!(on & DJPROBE_SWITCH_PROBES))
        lines.emplace_back("all probes are switched off: 'probeload on' puts them back");
    if (!(on & DJPROBE_SWITCH_JUMPS))
        lines.emplace_back("jumps are switched off: 'probeload on --jumps' brings them back");
    return lines;
}

void Probe::append(Probe&& other) {
    std::ranges::move(other.fds_, std::back_inserter(fds_));
}

bool Probe::wait(const StopSignals& stop) const {
    return std::ranges::all_of(fds_, [&](const UniqueFd& fd) {
        while (!stop.requested()) {
            if (ioctl(fd.get(), DJPROBE_IOC_WAIT) == 0) return true;
            if (errno != EINTR) fail_request("waiting for the probe", errno);
        }
        return false;
    });
}

bool Probe::disable() const noexcept {
    bool disabled = true;
    for (const UniqueFd& fd : fds_) {
        djprobe_enable request = {};
        request.size = sizeof request;
        disabled &= ioctl(fd.get(), DJPROBE_IOC_ENABLE, &request) == 0;
    }
    return disabled;
}

void run_out() noexcept {
    // An RCU grace period, and programs run under RCU. Kernels with nohz_full refuse: then the last
    // record may come too late to be seen.
    syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
}

djprobe_total Probe::total() const {
    djprobe_total sum = {};
    for (const UniqueFd& fd : fds_) {
        const djprobe_total total = total_of(fd);
        sum.count += total.count;
        sum.hits += total.hits;
        for (std::size_t i = 0; i < std::size(sum.missed); ++i)
            sum.missed[i] += total.missed[i];
        for (std::size_t i = 0; i < std::size(sum.states); ++i)
            sum.states[i] += total.states[i];
    }
    return sum;
}

std::vector<ProbeState> Probe::queries(bool names) const {
    const std::size_t entry = names ? sizeof(djprobe_query) : kWithoutNames;
    std::vector<ProbeState> queries;
    djprobe_query query = {};
    for (const UniqueFd& fd : fds_) {
        const std::size_t count = total_of(fd).count;
        // The others have as many each: what is longer than that moves, and needs new memory.
        if (&fd == &fds_.front()) queries.reserve(count * fds_.size());
        // One more than there are: no further call finds out that these were all.
        query_some(fd, entry, count + 1, [&](const std::byte* answer) {
            std::memcpy(&query, answer, entry);
            queries.push_back(state_of(query));
        });
    }
    return queries;
}

void Probe::visit(const std::function<void(const ProbeState&)>& look) const {
    constexpr std::size_t kAtOnce = 16384;
    djprobe_query query = {};
    for (const UniqueFd& fd : fds_)
        query_some(fd, kWithoutNames, kAtOnce, [&](const std::byte* answer) {
            std::memcpy(&query, answer, kWithoutNames);
            look(state_of(query));
        });
}

std::vector<std::uint64_t> Probe::hits() const {
    std::vector<std::uint64_t> hits;
    visit([&](const ProbeState& probe) { hits.push_back(probe.hits); });
    return hits;
}

}  // namespace djprobe::loader
