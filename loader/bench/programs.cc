// SPDX-License-Identifier: GPL-2.0
#include "bench/programs.h"

#include <bench.skel.h>
#include <bpf/bpf.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.h"
#include "object/libbpf_log.h"

namespace djprobe::loader {
namespace {

constexpr std::uint64_t kRecordSize = kRingHeader + 32;

std::array<bpf_program*, 3> of_kind(const bench& skeleton, ProgramKind kind) {
    const auto& all = skeleton.progs;
    switch (kind) {
        case ProgramKind::kKprobe:
            return {all.kprobe_empty, all.kprobe_counter, all.kprobe_ringbuf};
        case ProgramKind::kMulti:
            return {all.multi_empty, all.multi_counter, all.multi_ringbuf};
        case ProgramKind::kFentry:
            return {all.fentry_empty, all.fentry_counter, all.fentry_ringbuf};
        case ProgramKind::kFexit:
            return {all.fexit_empty, all.fexit_counter, all.fexit_ringbuf};
        case ProgramKind::kRawTracepoint:
            return {all.raw_tp_empty, all.raw_tp_counter, all.raw_tp_ringbuf};
    }
    return {};
}

[[noreturn]] void fail_load(const LibbpfLog& log, int error) {
    if (error == EPERM)
        fail(ExitCode::kNoPermission,
             "not permitted to load BPF programs: needs root with CAP_BPF and CAP_PERFMON");
    const std::string verifier = verifier_tail(log.text(), 1);
    if (!verifier.empty()) fail(ExitCode::kRejected, "{}", verifier);
    const std::string warning = first_warning(log.text());
    fail(ExitCode::kRejected, "{}", warning.empty() ? std::strerror(error) : warning);
}

}  // namespace

const char* body_name(Body body) {
    constexpr std::array<const char*, 3> kNames = {"empty", "counter", "ringbuf"};
    return kNames[static_cast<std::size_t>(body)];
}

void Programs::Destroy::operator()(bench* skeleton) const {
    bench__destroy(skeleton);
}

Programs::Programs(Programs&&) noexcept = default;
Programs::~Programs() = default;

Programs Programs::load(ProgramKind kind, const std::string& function) {
    const LibbpfLog log(false);
    Programs programs;
    programs.kind_ = kind;
    programs.skeleton_.reset(bench__open());
    if (!programs.skeleton_) fail_load(log, errno);
    bpf_object* const object = programs.skeleton_->obj;
    const auto wanted = of_kind(*programs.skeleton_, kind);
    bpf_program* program = nullptr;
    bpf_object__for_each_program(program, object) {
        bpf_program__set_autoload(program, std::ranges::find(wanted, program) != wanted.end());
    }
    if (kind == ProgramKind::kFentry || kind == ProgramKind::kFexit) {
        for (bpf_program* const traced : wanted) {
            if (const int error = bpf_program__set_attach_target(traced, 0, function.c_str()))
                fail_load(log, -error);
        }
    }
    if (const int error = bench__load(programs.skeleton_.get())) fail_load(log, -error);
    const bpf_map* const events = programs.skeleton_->maps.events;
    try {
        programs.ring_.emplace(bpf_map__fd(events), bpf_map__max_entries(events));
    } catch (const std::system_error& error) {
        fail(ExitCode::kFailure, "cannot read a ring buffer: {}", error.code().message());
    }
    return programs;
}

bpf_program* Programs::program(Body body) const {
    return of_kind(*skeleton_, kind_)[static_cast<std::size_t>(body)];
}

std::uint64_t Programs::room() const {
    return (ring_->memory().size - 1) / kRecordSize;
}

void Programs::drain() {
    consume_ring(ring_->memory(), [this](std::span<const std::byte>) {
        ++received_;
        return true;
    });
}

std::uint64_t Programs::read_counter() const {
    const int cpus = libbpf_num_possible_cpus();
    if (cpus < 0) fail(ExitCode::kFailure, "counting the CPUs: {}", std::strerror(-cpus));
    std::vector<std::uint64_t> values(static_cast<std::size_t>(cpus));
    const __u32 key = 0;
    if (bpf_map_lookup_elem(bpf_map__fd(skeleton_->maps.count), &key, values.data()) != 0)
        fail(ExitCode::kFailure, "reading the counter: {}", std::strerror(errno));
    return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
}

std::uint64_t Programs::take_count() {
    const std::uint64_t now = read_counter();
    const std::uint64_t counted = now - std::exchange(counted_, now);
    drain();
    return counted + std::exchange(received_, 0);
}

}  // namespace djprobe::loader
