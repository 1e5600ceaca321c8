// SPDX-License-Identifier: GPL-2.0
#include "latency/programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <latency.skel.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <span>

#include "base/error.h"
#include "base/unique_fd.h"
#include "object/load_error.h"

namespace djprobe::loader {
namespace {

std::size_t cpus() {
    const int cpus = libbpf_num_possible_cpus();
    if (cpus < 0) fail(ExitCode::kFailure, "counting the CPUs: {}", std::strerror(-cpus));
    return static_cast<std::size_t>(cpus);
}

std::vector<latency_seen> read_cpus(int map) {
    const __u32 key = 0;
    std::vector<latency_seen> seen(cpus());
    if (bpf_map_lookup_elem(map, &key, seen.data()) != 0)
        fail(ExitCode::kFailure, "reading the times: {}", std::strerror(errno));
    return seen;
}

// Whatever comes meanwhile, the walk ends.
std::vector<TimesOf> read_comms(int map) {
    std::vector<TimesOf> comms;
    std::vector<latency_times> parts(cpus());
    latency_comm key = {}, next = {};
    const void* previous = nullptr;
    for (int seen = 0; seen < LATENCY_COMMS; ++seen) {
        if (bpf_map_get_next_key(map, previous, &next) != 0) break;
        key = next;
        previous = &key;
        if (bpf_map_lookup_elem(map, &key, parts.data()) != 0) continue;
        TimesOf comm{std::string(key.name, strnlen(key.name, sizeof key.name)), {}};
        for (const latency_times& part : parts)
            comm.times.add(part);
        // Its first pair is not through yet.
        if (comm.times.pairs != 0) comms.push_back(std::move(comm));
    }
    sort_parts(comms);
    return comms;
}

Program named(bpf_program* program) {
    return {program, bpf_program__name(program), bpf_program__section_name(program)};
}

[[noreturn]] void fail_reserve() {
    fail(ExitCode::kFailure, "giving each task room for a time: {}", std::strerror(errno));
}

}  // namespace

void LatencyPrograms::Close::operator()(latency* object) const {
    latency__destroy(object);
}

LatencyPrograms LatencyPrograms::load(LatencyBy by) {
    const LibbpfLog log(false);
    LatencyPrograms programs;
    programs.by_ = by;
    programs.object_.reset(latency__open());
    latency* const object = programs.object_.get();
    if (object == nullptr) fail_load(log, errno);
    object->rodata->by_comm = by == LatencyBy::kComm;
    if (by != LatencyBy::kComm) bpf_map__set_max_entries(object->maps.comms, 1);
    if (const int error = latency__load(object)) fail_load(log, -error);
    programs.reserve();
    return programs;
}

// New tasks first: else one that is made between the two would be forgotten.
void LatencyPrograms::reserve() {
    latency& object = *object_;
    object.links.reserve_new = bpf_program__attach(object.progs.reserve_new);
    object.links.reserve_all = bpf_program__attach(object.progs.reserve_all);
    if (object.links.reserve_new == nullptr || object.links.reserve_all == nullptr) fail_reserve();
    const UniqueFd all(bpf_iter_create(bpf_link__fd(object.links.reserve_all)));
    if (!all) fail_reserve();
    char none;
    if (::read(all.get(), &none, sizeof none) != 0) fail_reserve();
}

Program LatencyPrograms::begin() const {
    return named(object_->progs.begin);
}

Program LatencyPrograms::end() const {
    return named(object_->progs.end);
}

void LatencyPrograms::count(bool on) {
    object_->bss->on = on;
}

LatencyResults LatencyPrograms::read() const {
    const std::vector<latency_seen> seen = read_cpus(bpf_map__fd(object_->maps.seen));
    if (by_ == LatencyBy::kCpu) return add_up_by_cpu(seen);
    LatencyResults results = add_up(seen);
    if (by_ == LatencyBy::kComm) results.parts = read_comms(bpf_map__fd(object_->maps.comms));
    return results;
}

}  // namespace djprobe::loader
