// SPDX-License-Identifier: GPL-2.0
#include "run/ledger.h"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <iterator>
#include <system_error>
#include <utility>

#include "kernel/reason.h"

namespace djprobe::loader {

namespace {

// A jump and the instructions that it takes the place of end before this.
constexpr std::uint64_t kReach = 32;
// No placement has this number.
constexpr std::uint64_t kNewcomer = 0;

// Where the kernel hides addresses a tool names its places by symbols: far from each other.
std::uint64_t stand_in(const SiteSpec& site) {
    return (std::hash<std::string>{}(site.symbol) >> 24 << 24) + site.offset;
}

}  // namespace

void RunSums::add(const ProbeState& probe) {
    // What is still being optimized gets its jump, unless the text changes.
    const bool jump =
        probe.state == DJPROBE_STATE_OPTIMIZED || probe.state == DJPROBE_STATE_OPTIMIZING;
    if (jump)
        ++jumps;
    else if (probe.state == DJPROBE_STATE_ARMED)
        ++int3s, ++int3_reasons[reason_name(probe.reason)];
    else
        ++unarmed;
    if (probe.flags & DJPROBE_ATTACH_SHADOW)
        ++shadow;
    else if (probe.flags & DJPROBE_ATTACH_RETURN)
        ++exact;
    add_counters(probe);
}

void RunSums::add_counters(const ProbeState& probe) {
    hits += probe.hits;
    for (std::size_t kind = 0; kind < std::size(missed); ++kind)
        missed[kind] += probe.missed[kind];
}

Ledger::Ledger() : ended_(epoll_create1(EPOLL_CLOEXEC)) {
    if (!ended_) throw std::system_error(errno, std::generic_category(), "epoll_create1");
}

std::uint64_t Ledger::add(Placement placement) {
    const std::uint64_t number = ++last_;
    epoll_event event = {};  // the end is always told of
    event.data.u64 = number;
    epoll_ctl(ended_.get(), EPOLL_CTL_ADD, placement.probe.fd(), &event);
    Entry& entry =
        entries_.try_emplace(number, Entry{std::move(placement), {}, false}).first->second;
    look_at(entry);
    return number;
}

Placement* Ledger::find(std::uint64_t number) {
    const auto entry = entries_.find(number);
    return entry == entries_.end() ? nullptr : &entry->second.placement;
}

void Ledger::count_kernel(const std::string& reason, std::size_t probes) {
    past_.by_kernel[reason] += probes;
}

void Ledger::add_spans(std::vector<Span>& spans, const Entry& entry, std::uint64_t number) {
    for (const ProbeState& probe : entry.seen)
        if (probe.address != 0) spans.push_back({probe.anchor, probe.address + kReach, number});
    if (!entry.seen.empty() && entry.seen.front().address != 0) return;
    const auto add = [&](const SiteSpec& site) {
        spans.push_back({stand_in(site), stand_in(site) + kReach, number});
    };
    for (const MultiTarget& target : entry.placement.multi.targets)
        add(target.site);
    if (entry.placement.multi.targets.empty()) add(entry.placement.event.site);
}

std::vector<Span> Ledger::spans() const {
    std::vector<Span> spans;
    for (const auto& [number, entry] : entries_) {
        if (entry.placement.by_kernel) continue;
        add_spans(spans, entry, number);
    }
    return spans;
}

std::vector<std::uint64_t> Ledger::around(const SiteSpec& site, std::uint64_t address) const {
    std::vector<Span> all = spans();
    const std::uint64_t from = address != 0 ? address : stand_in(site);
    all.push_back({from, from + kReach, kNewcomer});
    return overlapping_owners(std::move(all), kNewcomer);
}

std::vector<std::uint64_t> Ledger::around_placement(std::uint64_t number) const {
    std::vector<std::uint64_t> numbers = {number};
    std::ranges::copy(overlapping_owners(spans(), number), std::back_inserter(numbers));
    return numbers;
}

std::vector<ProbeState> last_in_text(const std::vector<ProbeState>& seen,
                                     std::vector<ProbeState> now) {
    for (std::size_t i = 0; i < std::min(now.size(), seen.size()); ++i)
        if (now[i].state == DJPROBE_STATE_DISARMED) now[i] = seen[i];
    return now;
}

void Ledger::look_at(Entry& entry) {
    std::vector<ProbeState> now = entry.placement.probe.queries(false);
    entry.settled = std::ranges::none_of(
        now, [](const ProbeState& probe) { return probe.state == DJPROBE_STATE_OPTIMIZING; });
    entry.seen = last_in_text(entry.seen, std::move(now));
}

bool Ledger::look() {
    for (auto& [number, entry] : entries_)
        if (!entry.settled) look_at(entry);
    return std::ranges::any_of(entries_, [](const auto& one) { return !one.second.settled; });
}

// The counters are those of now, all else of the last look.
void Ledger::add_to(RunSums& sums, const Entry& entry) {
    std::vector<ProbeState> now = entry.placement.probe.queries(false);
    for (std::size_t i = 0; i < std::min(now.size(), entry.seen.size()); ++i) {
        ProbeState probe = entry.seen[i];
        probe.hits = now[i].hits;
        std::copy(std::begin(now[i].missed), std::end(now[i].missed), std::begin(probe.missed));
        entry.placement.by_kernel ? sums.add_counters(probe) : sums.add(probe);
    }
}

void Ledger::forget_ended() {
    std::array<epoll_event, 64> ended{};
    const int count = epoll_wait(ended_.get(), ended.data(), ended.size(), 0);
    for (int i = 0; i < count; ++i) {
        const auto entry = entries_.find(ended[static_cast<std::size_t>(i)].data.u64);
        if (entry == entries_.end()) continue;
        add_to(past_, entry->second);
        // The event that is being closed may have the probe fd's file open still, and with that
        // file the epoll would tell of an entry that is gone.
        epoll_ctl(ended_.get(), EPOLL_CTL_DEL, entry->second.placement.probe.fd(), nullptr);
        entries_.erase(entry);
    }
}

RunSums Ledger::sums() {
    RunSums sums = past_;
    for (const auto& [number, entry] : entries_)
        add_to(sums, entry);
    return sums;
}

}  // namespace djprobe::loader
