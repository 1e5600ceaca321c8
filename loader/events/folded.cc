// SPDX-License-Identifier: GPL-2.0
#include "events/folded.h"

#include <bpf/bpf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "decode/quote.h"
#include "events/stack_dump.h"
#include "events/stack_names.h"
#include "kernel/possible_cpus.h"

namespace djprobe::loader {
namespace {

constexpr std::size_t kMostStacksRead = 1 << 16;

std::int64_t number_at(const StackFields::Place& place, std::span<const std::byte> value) {
    if (place.offset + std::size_t{place.size} > value.size()) return 0;
    std::uint64_t number = 0;
    std::memcpy(&number, &value[place.offset], place.size);
    return place.size == 4 ? static_cast<std::int32_t>(number) : static_cast<std::int64_t>(number);
}

std::string text_at(const StackFields::Place& place, std::span<const std::byte> value) {
    if (place.offset + std::size_t{place.size} > value.size()) return "";
    const auto* const from = reinterpret_cast<const char*>(value.data()) + place.offset;
    return {from, strnlen(from, place.size)};
}

std::span<const std::byte> bytes_of(const StackFields::Stack& stack,
                                    std::span<const std::byte> value) {
    if (stack.offset >= value.size()) return {};
    const std::size_t room = value.size() - stack.offset;
    return value.subspan(stack.offset,
                         stack.size == 0 ? room : std::min<std::size_t>(room, stack.size));
}

bool is_hash(bpf_map_type type) {
    return type == BPF_MAP_TYPE_HASH || type == BPF_MAP_TYPE_LRU_HASH ||
           type == BPF_MAP_TYPE_PERCPU_HASH || type == BPF_MAP_TYPE_LRU_PERCPU_HASH;
}

bool is_per_cpu(bpf_map_type type) {
    return type == BPF_MAP_TYPE_PERCPU_HASH || type == BPF_MAP_TYPE_LRU_PERCPU_HASH;
}

// The kernel rounds each CPU's slot up to 8 bytes.
std::uint64_t sum(const StackFields::Place& count, std::span<const std::byte> values,
                  std::size_t stride) {
    std::uint64_t all = 0;
    for (std::size_t at = 0; at < values.size(); at += stride)
        all += static_cast<std::uint64_t>(number_at(count, values.subspan(at)));
    return all;
}

}  // namespace

std::string folded_name(std::string_view name) {
    std::string text = printable_name(name);
    std::ranges::replace(text, ';', ':');
    return text;
}

std::vector<Frame> FoldedStacks::kept_stack(std::int64_t id) const {
    // A negative one is an error: there was no stack, or no room.
    if (id < 0) return {};
    const bpf_map* map = nullptr;
    bpf_object__for_each_map(map, object_) {
        if (bpf_map__type(map) != BPF_MAP_TYPE_STACK_TRACE) continue;
        if (auto frames = find_stack(map, static_cast<__u32>(id))) return *frames;
    }
    return {};
}

std::vector<std::vector<Frame>> FoldedStacks::stacks_of(const StackFields& fields,
                                                        std::span<const std::byte> value) const {
    std::vector<std::vector<Frame>> stacks;
    for (const StackFields::Stack& stack : fields.stacks)
        stacks.push_back(frames_in(stack.kind, bytes_of(stack, value)));
    for (const StackFields::Place& id : fields.ids)
        stacks.push_back(kept_stack(number_at(id, value)));
    std::erase_if(stacks, [](const auto& frames) { return frames.empty(); });
    // The kernel was called by the process' code.
    std::stable_partition(stacks.begin(), stacks.end(),
                          [](const auto& frames) { return !is_kernel(frames.front()); });
    return stacks;
}

std::string FoldedStacks::line(const StackFields& fields, std::span<const std::byte> value) const {
    const auto process =
        fields.process ? static_cast<std::uint32_t>(number_at(*fields.process, value)) : 0;
    std::string line = fields.task_name ? folded_name(text_at(*fields.task_name, value)) : "";
    bool any = false;
    for (const std::vector<Frame>& frames : stacks_of(fields, value)) {
        any = true;
        for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame)
            line += (line.empty() ? "" : ";") + folded_name(names_.function(*frame, process));
    }
    return any ? line : "";
}

void FoldedStacks::add(const StackFields& fields, std::span<const std::byte> record) {
    const std::string stack = line(fields, record);
    if (!stack.empty()) ++counts_[stack];
}

void FoldedStacks::add_map(const bpf_map* map, Counts& counts) const {
    const btf* const types = bpf_object__btf(object_);
    const __u32 key_type = bpf_map__btf_key_type_id(map);
    const __u32 value_type = bpf_map__btf_value_type_id(map);
    if (!types || key_type == 0 || value_type == 0) return;
    const StackFields fields = stack_fields_of(*types, key_type, bpf_map__name(map));
    const auto count = stack_fields_of(*types, value_type, "").count;
    if ((fields.stacks.empty() && fields.ids.empty()) || !count) return;

    const bool per_cpu = is_per_cpu(bpf_map__type(map));
    const std::size_t size = bpf_map__value_size(map);
    const std::size_t stride = per_cpu ? (size + 7) / 8 * 8 : size;
    const auto cpus = per_cpu ? possible_cpus() : 1;
    std::vector<std::byte> key(bpf_map__key_size(map)), next(key.size()), value(stride * cpus);
    const void* previous = nullptr;
    const int fd = bpf_map__fd(map);
    for (std::size_t i = 0; i < std::min<std::size_t>(bpf_map__max_entries(map), kMostStacksRead);
         ++i) {
        if (bpf_map_get_next_key(fd, previous, next.data()) != 0) return;
        key = next;
        previous = key.data();
        if (bpf_map_lookup_elem(fd, previous, value.data()) != 0) continue;
        const std::string stack = line(fields, key);
        if (!stack.empty()) counts[stack] += sum(*count, value, stride);
    }
}

std::map<std::string, std::uint64_t> FoldedStacks::all() const {
    Counts counts = counts_;
    const bpf_map* map = nullptr;
    bpf_object__for_each_map(map, object_) {
        if (is_hash(bpf_map__type(map))) add_map(map, counts);
    }
    return counts;
}

void print_folded(const std::map<std::string, std::uint64_t>& stacks, Output& output) {
    for (const auto& [stack, count] : stacks) {
        fmt::format_to(fmt::appender(output.buffer()), "{} {}\n", stack, count);
        output.flush_if_full();
    }
    output.flush();
}

}  // namespace djprobe::loader
