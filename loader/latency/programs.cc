// SPDX-License-Identifier: GPL-2.0
#include "latency/programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <latency.skel.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <span>

#include "base/error.h"
#include "kernel/own_number.h"
#include "kernel/site_spec.h"
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

std::vector<std::uint32_t> own_tasks() {
    std::vector<std::uint32_t> tasks;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task"))
        tasks.push_back(parse_unsigned(task.path().filename().string()).value_or(0));
    return tasks;
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
    const std::uint32_t numbers = std::bit_ceil(first_impossible_number());
    bpf_map__set_max_entries(object->maps.began, numbers);
    object->rodata->mask = numbers - 1;
    object->rodata->own = static_cast<__u32>(own_number().value_or(0));
    object->rodata->by_comm = by == LatencyBy::kComm;
    if (by != LatencyBy::kComm) bpf_map__set_max_entries(object->maps.comms, 1);
    if (const int error = latency__load(object)) fail_load(log, -error);
    object->links.new_task = bpf_program__attach(object->progs.new_task);
    if (object->links.new_task == nullptr) fail_load(log, errno);
    programs.leave_out_own();
    return programs;
}

void LatencyPrograms::leave_out_own() {
    const latency& object = *object_;
    if (object.rodata->own == 0) return;
    const std::uint64_t left_out = LATENCY_LEFT_OUT;
    for (const std::uint32_t task : own_tasks()) {
        const std::uint32_t index = LATENCY_INDEX(task, object.rodata->mask);
        if (bpf_map_update_elem(bpf_map__fd(object.maps.began), &index, &left_out, BPF_ANY) != 0)
            fail(ExitCode::kFailure, "leaving out probeload itself: {}", std::strerror(errno));
    }
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
