// SPDX-License-Identifier: GPL-2.0
#include "events/stack_dump.h"

#include <bpf/bpf.h>
#include <fmt/format.h>

#include "base/plural.h"

namespace djprobe::loader {
namespace {

constexpr std::size_t kMostStacksShown = 64;
MapEntry describe(const std::string& map, __u32 id, const std::vector<Frame>& frames,
                  FrameNames& names) {
    MapEntry entry;
    entry.map = map;
    entry.key = id;
    entry.key_text = fmt::to_string(id);
    entry.value = nlohmann::ordered_json::array();
    for (const Frame& frame : frames) {
        const std::string name = names.full(frame, 0);
        entry.value.push_back(name);
        entry.chart += "    " + name + '\n';
    }
    entry.value_text = plural(entry.value.size(), "frame");
    return entry;
}

}  // namespace

bool has_stacks(const bpf_object* object) {
    const bpf_map* map = nullptr;
    bpf_object__for_each_map(map, object) {
        if (bpf_map__type(map) == BPF_MAP_TYPE_STACK_TRACE) return true;
    }
    return false;
}

StackKind kind_of(const bpf_map* map) {
    const bool by_build = (bpf_map__map_flags(map) & BPF_F_STACK_BUILD_ID) != 0;
    return by_build ? StackKind::kBuildIds : StackKind::kAddresses;
}

std::optional<std::vector<Frame>> find_stack(const bpf_map* map, __u32 id) {
    std::vector<std::byte> frames(bpf_map__value_size(map));
    if (bpf_map_lookup_elem(bpf_map__fd(map), &id, frames.data()) != 0) return std::nullopt;
    return frames_in(kind_of(map), frames);
}

void dump_stacks(const bpf_map* map, FrameNames& names, MapDump& out) {
    const std::string name = bpf_map__name(map);
    const int fd = bpf_map__fd(map);
    __u32 id = 0, next = 0;
    std::size_t seen = 0;
    // Identifiers ascend, so that the walk ends.
    for (const void* previous = nullptr; bpf_map_get_next_key(fd, previous, &next) == 0; ++seen) {
        id = next;
        previous = &id;
        if (seen >= kMostStacksShown) continue;
        if (const auto frames = find_stack(map, id))
            out.entries.push_back(describe(name, id, *frames, names));
    }
    if (seen > kMostStacksShown) out.left_out.push_back({name, seen - kMostStacksShown, false});
}

}  // namespace djprobe::loader
