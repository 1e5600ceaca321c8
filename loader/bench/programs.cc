// SPDX-License-Identifier: GPL-2.0
#include "bench/programs.h"

#include <bench.skel.h>
#include <bpf/bpf.h>
#include <fmt/core.h>

#include <cerrno>
#include <cstring>
#include <numeric>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.h"
#include "bench/bpf/bench.h"
#include "kernel/possible_cpus.h"
#include "object/load_error.h"

namespace djprobe::loader {
namespace {

constexpr std::uint64_t kRecordSize = kRingHeader + 32;

const char* prefix_of(ProgramKind kind) {
    switch (kind) {
        case ProgramKind::kKprobe:
            return "kprobe";
        case ProgramKind::kMulti:
            return "multi";
        case ProgramKind::kFentry:
            return "fentry";
        case ProgramKind::kFexit:
            return "fexit";
        case ProgramKind::kRawTracepoint:
            return "raw_tp";
    }
    return "";
}

bpf_program* find_program(const bpf_object* object, ProgramKind kind, Body body) {
    const std::string name = fmt::format("{}_{}", prefix_of(kind), body_name(body));
    return bpf_object__find_program_by_name(object, name.c_str());
}

/// Of the counters under key 0, over all CPUs.
std::uint64_t sum_of(int map, std::size_t counters) {
    std::vector<std::uint64_t> values(possible_cpus() * counters);
    const __u32 key = 0;
    if (bpf_map_lookup_elem(map, &key, values.data()) != 0)
        fail(ExitCode::kFailure, "reading the counters: {}", std::strerror(errno));
    return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
}

}  // namespace

const char* body_name(Body body) {
    constexpr std::array kNames = {"empty", "counter", "filter", "histogram", "ringbuf"};
    return kNames[static_cast<std::size_t>(body)];
}

std::string body_names() {
    std::string names;
    for (const Body body : kBodies)
        names += fmt::format("{}{}", names.empty() ? "" : ", ", body_name(body));
    return names;
}

Programs Programs::load(ProgramKind kind, const std::string& function) {
    const LibbpfLog log(false);
    Programs programs;
    programs.kind_ = kind;
    std::size_t size = 0;
    const void* const bytes = bench__elf_bytes(&size);
    LIBBPF_OPTS(bpf_object_open_opts, options);
    options.object_name = "bench";
    programs.object_.reset(bpf_object__open_mem(bytes, size, &options));
    bpf_object* const object = programs.object_.get();
    if (object == nullptr) fail_load(log, errno);
    bpf_program* program = nullptr;
    bpf_object__for_each_program(program, object) {
        bpf_program__set_autoload(program, false);
    }
    for (const Body body : kBodies) {
        program = find_program(object, kind, body);
        bpf_program__set_autoload(program, true);
        if (kind != ProgramKind::kFentry && kind != ProgramKind::kFexit) continue;
        if (const int error = bpf_program__set_attach_target(program, 0, function.c_str()))
            fail_load(log, -error);
    }
    if (const int error = bpf_object__load(object)) fail_load(log, -error);
    const bpf_map* const events = bpf_object__find_map_by_name(object, "events");
    programs.count_fd_ = bpf_object__find_map_fd_by_name(object, "count");
    programs.slots_fd_ = bpf_object__find_map_fd_by_name(object, "slots");
    try {
        programs.ring_.emplace(bpf_map__fd(events), bpf_map__max_entries(events));
    } catch (const std::system_error& error) {
        fail(ExitCode::kFailure, "cannot read a ring buffer: {}", error.code().message());
    }
    return programs;
}

bpf_program* Programs::program(Body body) const {
    return find_program(object_.get(), kind_, body);
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

std::uint64_t Programs::read_counters() const {
    return sum_of(count_fd_, 1) + sum_of(slots_fd_, BENCH_SLOTS);
}

std::uint64_t Programs::take_count() {
    const std::uint64_t now = read_counters();
    const std::uint64_t counted = now - std::exchange(counted_, now);
    drain();
    return counted + std::exchange(received_, 0);
}

}  // namespace djprobe::loader
