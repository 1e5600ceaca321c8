// SPDX-License-Identifier: GPL-2.0
#include "latency/programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <latency.skel.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <span>

#include "base/error.h"
#include "kernel/own_number.h"
#include "kernel/possible_cpus.h"
#include "kernel/site_spec.h"
#include "object/load_error.h"

namespace djprobe::loader {
namespace {

template <class OfCpu>
std::vector<OfCpu> read_cpus(int map) {
    const __u32 key = 0;
    std::vector<OfCpu> seen(possible_cpus());
    if (bpf_map_lookup_elem(map, &key, seen.data()) != 0)
        fail(ExitCode::kFailure, "reading the times: {}", std::strerror(errno));
    return seen;
}

// Whatever comes meanwhile, the walk ends.
std::vector<TimesOf> read_comms(int map) {
    std::vector<TimesOf> comms;
    std::vector<latency_times> parts(possible_cpus());
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

djprobe_action timed(djprobe_action_operation operation, std::size_t offset,
                     std::uint64_t value = 0) {
    djprobe_action action = {};
    action.operation = static_cast<unsigned char>(operation);
    action.offset = static_cast<unsigned>(offset);
    action.value = value;
    return action;
}

// Of the time that ELAPSED has found.
djprobe_action of_elapsed(djprobe_action_operation operation, std::size_t offset) {
    djprobe_action action = timed(operation, offset);
    action.width = sizeof(std::uint64_t);
    action.flags = DJPROBE_ACTION_TOOK;
    return action;
}

// Each begins with what its hits are.
std::vector<djprobe_action> begin_actions() {
    return {timed(DJPROBE_ACTION_COUNT, offsetof(latency_counted, begin_hits)),
            timed(DJPROBE_ACTION_TIME, offsetof(latency_counted, begins))};
}

std::vector<djprobe_action> end_actions(std::uint64_t tsc_rate) {
    return {timed(DJPROBE_ACTION_COUNT, offsetof(latency_counted, end_hits)),
            timed(DJPROBE_ACTION_ELAPSED, offsetof(latency_counted, unbegun), tsc_rate),
            of_elapsed(DJPROBE_ACTION_LOG2, offsetof(latency_counted, slots)),
            of_elapsed(DJPROBE_ACTION_ADD, offsetof(latency_counted, sum)),
            of_elapsed(DJPROBE_ACTION_MAX, offsetof(latency_counted, most)),
            of_elapsed(DJPROBE_ACTION_MIN, offsetof(latency_counted, inverted_least))};
}

}  // namespace

void LatencyPrograms::Close::operator()(latency* object) const {
    latency__destroy(object);
}

void LatencyPrograms::open(LatencyBy by) {
    const LibbpfLog log(false);
    by_ = by;
    object_.reset(latency__open());
    latency* const object = object_.get();
    if (object == nullptr) fail_load(log, errno);
    const std::uint32_t numbers = std::bit_ceil(first_impossible_number());
    bpf_map__set_max_entries(object->maps.began, DJPROBE_TIMES_HEAD + numbers);
    object->rodata->mask = numbers - 1;
    object->rodata->own = static_cast<__u32>(own_number().value_or(0));
    object->rodata->by_comm = by == LatencyBy::kComm;
    if (by != LatencyBy::kComm) bpf_map__set_max_entries(object->maps.comms, 1);
}

void LatencyPrograms::load_object() {
    const LibbpfLog log(false);
    latency* const object = object_.get();
    if (const int error = latency__load(object)) fail_load(log, -error);
    object->links.new_task = bpf_program__attach(object->progs.new_task);
    if (object->links.new_task == nullptr) fail_load(log, errno);
    leave_out_own();
}

LatencyPrograms LatencyPrograms::load(LatencyBy by) {
    LatencyPrograms programs;
    programs.open(by);
    bpf_map__set_autocreate(programs.object_->maps.counted, false);
    programs.load_object();
    return programs;
}

LatencyPrograms LatencyPrograms::load_for_actions(LatencyBy by, std::uint64_t tsc_rate) {
    LatencyPrograms programs;
    programs.open(by);
    const latency& object = *programs.object_;
    bpf_program__set_autoload(object.progs.begin, false);
    bpf_program__set_autoload(object.progs.end, false);
    bpf_map__set_autocreate(object.maps.seen, false);
    bpf_map__set_autocreate(object.maps.comms, false);
    programs.load_object();
    programs.begin_actions_ = begin_actions();
    programs.end_actions_ = end_actions(tsc_rate);
    programs.set_time(DJPROBE_TIMES_HEAD, LATENCY_LEFT_OUT);
    return programs;
}

void LatencyPrograms::set_time(std::uint32_t key, std::uint64_t value) const {
    if (bpf_map_update_elem(bpf_map__fd(object_->maps.began), &key, &value, BPF_ANY) != 0)
        fail(ExitCode::kFailure, "setting a task's time: {}", std::strerror(errno));
}

void LatencyPrograms::leave_out_own() {
    const latency& object = *object_;
    if (object.rodata->own == 0) return;
    for (const std::uint32_t task : own_tasks())
        set_time(DJPROBE_TIMES_HEAD + DJPROBE_TIMES_INDEX(task, object.rodata->mask),
                 LATENCY_LEFT_OUT);
}

Counters LatencyPrograms::counters(const std::vector<djprobe_action>& actions) const {
    return {bpf_map__fd(object_->maps.counted), 0, actions, bpf_map__fd(object_->maps.began)};
}

Counters LatencyPrograms::begin_counters() const {
    return counters(begin_actions_);
}

Counters LatencyPrograms::end_counters() const {
    return counters(end_actions_);
}

Program LatencyPrograms::begin() const {
    return named(object_->progs.begin);
}

Program LatencyPrograms::end() const {
    return named(object_->progs.end);
}

void LatencyPrograms::count(bool on) {
    object_->bss->on = on;
    if (are_actions()) set_time(0, on ? object_->rodata->mask : 0);
}

LatencyResults LatencyPrograms::read_counted() const {
    const auto counted = read_cpus<latency_counted>(bpf_map__fd(object_->maps.counted));
    std::vector<latency_seen> seen;
    seen.reserve(counted.size());
    std::ranges::transform(counted, std::back_inserter(seen), seen_of);
    LatencyResults results = by_ == LatencyBy::kCpu ? add_up_by_cpu(seen) : add_up(seen);
    results.uncompared = uncompared_of(counted);
    return results;
}

LatencyResults LatencyPrograms::read() const {
    if (are_actions()) return read_counted();
    const auto seen = read_cpus<latency_seen>(bpf_map__fd(object_->maps.seen));
    if (by_ == LatencyBy::kCpu) return add_up_by_cpu(seen);
    LatencyResults results = add_up(seen);
    if (by_ == LatencyBy::kComm) results.parts = read_comms(bpf_map__fd(object_->maps.comms));
    return results;
}

}  // namespace djprobe::loader
