// SPDX-License-Identifier: GPL-2.0
#include "bench/mechanism.h"

#include <fmt/core.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>
#include <vector>

#include "base/error.h"
#include "bench/bpf/bench.h"
#include "object/libbpf_log.h"

namespace djprobe::loader {
namespace {

constexpr const char* kSwitch = "/proc/sys/debug/kprobes-optimization";

constexpr std::string_view kInt3Only = "\xcc";
constexpr std::string_view kJumps = "\xe9\xeb";
constexpr std::string_view kLongJump = "\xe9";
constexpr std::string_view kCall = "\xe8";

using enum ProgramKind;
constexpr MechanismInfo kMechanisms[] = {
    {"djprobe-count", kJumps, BenchMechanism::kDjprobeCount, kKprobe, true, true},
    {"djprobe-jump", kJumps, BenchMechanism::kDjprobeJump, kKprobe, true, true},
    {"djprobe-int3", kInt3Only, BenchMechanism::kDjprobeInt3, kKprobe, true, true},
    {"djprobe-return", "", BenchMechanism::kDjprobeReturn, kKprobe, false, true},
    {"djprobe-shadow", "", BenchMechanism::kDjprobeShadow, kKprobe, false, true},
    {"kprobe-optimized", kLongJump, BenchMechanism::kKprobeOptimized, kKprobe, true, false},
    {"kprobe-int3", kInt3Only, BenchMechanism::kKprobeInt3, kKprobe, true, false},
    {"kprobe-ftrace", kCall, BenchMechanism::kKprobeFtrace, kKprobe, false, false},
    {"kretprobe", "", BenchMechanism::kKretprobe, kKprobe, false, false},
    {"kprobe-multi", kCall, BenchMechanism::kKprobeMulti, kMulti, false, false},
    {"fentry", kCall, BenchMechanism::kFentry, kFentry, false, false},
    {"fexit", kCall, BenchMechanism::kFexit, kFexit, false, false},
    {"raw-tracepoint", "", BenchMechanism::kRawTracepoint, ProgramKind::kRawTracepoint, false,
     false},
};

bpf_link* attach_kprobe(bpf_program* program, const BenchSite& site, std::uint64_t offset,
                        bool at_return) {
    LIBBPF_OPTS(bpf_kprobe_opts, options);
    options.offset = offset;
    options.retprobe = at_return;
    return bpf_program__attach_kprobe_opts(program, site.function.c_str(), &options);
}

bpf_link* attach_multi(bpf_program* program, const BenchSite& site) {
    const char* symbols[] = {site.function.c_str()};
    LIBBPF_OPTS(bpf_kprobe_multi_opts, options);
    options.syms = symbols;
    options.cnt = 1;
    return bpf_program__attach_kprobe_multi_opts(program, nullptr, &options);
}

bpf_link* attach_link(const MechanismInfo& info, const BenchSite& site, bpf_program* program) {
    switch (info.mechanism) {
        case BenchMechanism::kKprobeInt3:
        case BenchMechanism::kKprobeOptimized:
            return attach_kprobe(program, site, site.offset, false);
        case BenchMechanism::kKprobeFtrace:
            return attach_kprobe(program, site, 0, false);
        case BenchMechanism::kKretprobe:
            return attach_kprobe(program, site, 0, true);
        case BenchMechanism::kKprobeMulti:
            return attach_multi(program, site);
        case BenchMechanism::kFentry:
        case BenchMechanism::kFexit:
            return bpf_program__attach_trace(program);
        case BenchMechanism::kRawTracepoint:
            return bpf_program__attach_raw_tracepoint(program, kTracepoint);
        case BenchMechanism::kDjprobeCount:
        case BenchMechanism::kDjprobeJump:
        case BenchMechanism::kDjprobeInt3:
        case BenchMechanism::kDjprobeReturn:
        case BenchMechanism::kDjprobeShadow:
            break;
    }
    errno = EINVAL;
    return nullptr;
}

/// What the program of this body does, as a list of actions; none: the increment alone.
std::vector<djprobe_action> actions_of(Body body) {
    constexpr unsigned char kDi = 7;
    djprobe_action action = {};
    action.reg = kDi;
    action.width = sizeof(std::uint64_t);
    std::vector<djprobe_action> actions;
    if (body == Body::kHistogram) {
        action.operation = DJPROBE_ACTION_LOG2;
        actions.push_back(action);
    } else if (body == Body::kFilter) {
        action.operation = DJPROBE_ACTION_IF_NE;
        action.value = BENCH_NEVER;
        actions.push_back(action);
        djprobe_action count = {};
        count.operation = DJPROBE_ACTION_COUNT;
        actions.push_back(count);
    }
    return actions;
}

Probe attach_ours(const MechanismInfo& info, const BenchSite& site, const Programs& programs,
                  Body body, const Device* device) {
    if (device == nullptr) fail(ExitCode::kNotLoaded, "the module djprobe is not loaded");
    SiteSpec place;
    place.symbol = site.function;
    if (info.anywhere) place.offset = site.offset;
    Symbolizer symbolizer;
    if (info.mechanism == BenchMechanism::kDjprobeCount) {
        const std::vector<djprobe_action> actions = actions_of(body);
        return device->attach(place,
                              {.prog_fd = programs.counters(body),
                               .prog_name = "",
                               .cookie = 0,
                               .mode = DJPROBE_MODE_AUTO,
                               .flags = DJPROBE_ATTACH_COUNT,
                               .actions = actions},
                              symbolizer);
    }
    const bpf_program* const program = programs.program(body);
    const djprobe_mode mode =
        info.mechanism == BenchMechanism::kDjprobeInt3 ? DJPROBE_MODE_INT3 : DJPROBE_MODE_AUTO;
    std::uint32_t flags = info.anywhere ? 0 : DJPROBE_ATTACH_RETURN;
    if (info.mechanism == BenchMechanism::kDjprobeShadow) flags |= DJPROBE_ATTACH_SHADOW;
    return device->attach(
        place, {bpf_program__fd(program), bpf_program__name(program), 0, mode, flags}, symbolizer);
}

// libbpf begins with the program's name, which says nothing here.
std::string without_program(const std::string& warning) {
    const std::size_t at = warning.starts_with("prog '") ? warning.find("': ") : std::string::npos;
    return at == std::string::npos ? warning : warning.substr(at + 3);
}

}  // namespace

std::span<const MechanismInfo> mechanisms() {
    return kMechanisms;
}

const MechanismInfo* find_mechanism(std::string_view name) {
    for (const MechanismInfo& info : kMechanisms) {
        if (name == info.name) return &info;
    }
    return nullptr;
}

std::string place_of(const MechanismInfo& info, const BenchSite& site) {
    if (info.mechanism == BenchMechanism::kRawTracepoint) return kTracepoint;
    if (site.at_entry && !info.anywhere) return site.function;
    return fmt::format("{}+{:#x}", site.function, site.offset);
}

BenchProbe BenchProbe::create(const MechanismInfo& info, const BenchSite& site,
                              const Programs& programs, Body body, const Device* device) {
    BenchProbe attachment;
    if (info.ours) {
        attachment.probe_.emplace(attach_ours(info, site, programs, body, device));
        return attachment;
    }
    const LibbpfLog log(false);
    attachment.link_.reset(attach_link(info, site, programs.program(body)));
    if (!attachment.link_) {
        const int error = errno;
        const std::string warning = without_program(first_warning(log.text()));
        fail(ExitCode::kFailure, "{}", warning.empty() ? std::strerror(error) : warning);
    }
    return attachment;
}

std::optional<ProbeState> BenchProbe::query() const {
    if (!probe_) return std::nullopt;
    ProbeState query = probe_->queries(true).front();
    // A function may have several returns.
    query.hits = probe_->total().hits;
    return query;
}

void BenchProbe::settle(const StopSignals& stop) const {
    if (probe_) probe_->wait(stop);
}

KprobeOptimization::KprobeOptimization() {
    std::ifstream file(kSwitch);
    int value = 0;
    if (!(file >> value)) return;
    exists_ = true;
    before_ = now_ = value != 0;
}

KprobeOptimization::~KprobeOptimization() {
    try {
        set(before_);
    } catch (const Error&) {
        // It could be set before: only a kernel that has since locked itself refuses.
    }
}

void KprobeOptimization::set(bool on) {
    if (!exists_ || on == now_) return;
    std::ofstream file(kSwitch);
    if (!(file << (on ? "1" : "0") << std::flush))
        fail(ExitCode::kNoPermission, "{}: cannot be written: {}", kSwitch, std::strerror(errno));
    now_ = on;
}

}  // namespace djprobe::loader
