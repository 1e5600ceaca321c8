// SPDX-License-Identifier: GPL-2.0
#include "count/kernel_counting.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <calls.skel.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <span>

#include "base/error.h"
#include "base/stop_signals.h"
#include "kernel/possible_cpus.h"
#include "object/load_error.h"
#include "session/command.h"
#include "session/site_names.h"

namespace djprobe::loader {
namespace {

bool is_glob(const SiteSpec& site) {
    return site.is_glob();
}

calls_filter filter_of(const TaskFilter& tasks) {
    calls_filter filter = {};
    filter.by_process = tasks.pid.has_value();
    filter.process = tasks.pid.value_or(0);
    filter.by_thread = tasks.tid.has_value();
    filter.thread = tasks.tid.value_or(0);
    filter.by_name = tasks.comm.has_value();
    const std::string name = tasks.comm.value_or("");
    std::memcpy(filter.name, name.data(), std::min(name.size(), sizeof filter.name));
    return filter;
}

// What has no name has that of its address.
ProbeState place_at(const SiteSpec& site, std::uint64_t address, std::uint64_t number) {
    ProbeState place = {};
    place.address = address;
    place.cookie = number;
    if (!site.is_glob()) name_as_asked(site, place);
    return place;
}

}  // namespace

void KernelCounting::Close::operator()(calls* object) const {
    calls__destroy(object);
}

void KernelCounting::load(const std::vector<SiteSpec>& sites, const TaskFilter& tasks,
                          std::size_t counters) {
    const LibbpfLog log(false);
    object_.reset(calls__open());
    calls* const object = object_.get();
    if (object == nullptr) fail_load(log, errno);
    object->rodata->wanted = filter_of(tasks);
    bpf_map__set_max_entries(object->maps.djprobe_count,
                             static_cast<__u32>(std::max<std::size_t>(counters, 1)));
    // A kernel may have no probes of the one kind.
    bpf_program__set_autoload(object->progs.count_functions, std::ranges::any_of(sites, is_glob));
    bpf_program__set_autoload(object->progs.count_place, !std::ranges::all_of(sites, is_glob));
    if (const int error = calls__load(object)) fail_load(log, -error);
}

void KernelCounting::attach(const SiteSpec& site, Symbolizer& symbolizer) {
    bpf_program* const program =
        site.is_glob() ? object_->progs.count_functions : object_->progs.count_place;
    const Target target{
        {program, bpf_program__name(program), bpf_program__section_name(program)}, site, false};
    const std::vector<std::uint64_t> addresses = probes_.attach_numbered(target, used_, symbolizer);
    AttachmentReport report;
    report.program = target.program.name;
    // Of an entry the function's name is enough.
    if (site.is_glob() || (!site.symbol.empty() && site.offset == 0)) report.covers = Covers::kGlob;
    for (const std::uint64_t address : addresses)
        report.probes.push_back(place_at(site, address, used_++));
    places_.push_back(std::move(report));
}

KernelCounting::KernelCounting(const std::vector<SiteSpec>& sites, const TaskFilter& tasks,
                               Symbolizer& symbolizer, const StopSignals& stop) {
    // Of a pattern the kernel may take fewer functions, never more.
    load(sites, tasks, counters_for(sites, symbolizer));
    const LibbpfLog quiet(false);  // what failed is said here
    for (const SiteSpec& site : sites) {
        stop.check();
        attach(site, symbolizer);
    }
    // All functions take seconds.
    stop.check();
}

// Of all CPUs, by number.
std::vector<std::uint64_t> KernelCounting::read() const {
    const auto cpus = possible_cpus();
    std::vector<std::uint32_t> keys(used_);
    std::vector<std::uint64_t> values(used_ * cpus), sums(used_);
    auto count = static_cast<__u32>(used_);
    std::uint32_t next = 0;
    // It says that this was all by ENOENT.
    if (used_ != 0 &&
        bpf_map_lookup_batch(bpf_map__fd(object_->maps.djprobe_count), nullptr, &next, keys.data(),
                             values.data(), &count, nullptr) != 0 &&
        errno != ENOENT)
        fail(ExitCode::kFailure, "reading the counters: {}", std::strerror(errno));
    for (std::size_t i = 0; i < count; ++i) {
        const auto of_cpus = std::span(values).subspan(i * cpus, cpus);
        sums.at(keys[i]) = std::accumulate(of_cpus.begin(), of_cpus.end(), std::uint64_t{0});
    }
    return sums;
}

std::vector<AttachmentReport> KernelCounting::look() const {
    const std::vector<std::uint64_t> counts = read();
    std::vector<AttachmentReport> reports = places_;
    for (AttachmentReport& report : reports)
        for (ProbeState& place : report.probes)
            place.hits = counts[place.cookie];
    return reports;
}

const std::vector<AttachmentReport>& KernelCounting::stop(Summary& summary,
                                                          Symbolizer& /*symbolizer*/) {
    probes_.detach();
    run_out();
    last_ = look();
    summary.kernel = probes_.reports();
    for (KernelReport& report : summary.kernel) {
        // The program also runs where the task is not one of those that are wanted.
        report.hits = 0;
        for (const AttachmentReport& places : last_)
            for (const ProbeState& place : places.probes)
                if (places.program == report.program) *report.hits += place.hits;
    }
    return last_;
}

}  // namespace djprobe::loader
