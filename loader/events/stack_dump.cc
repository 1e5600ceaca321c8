// SPDX-License-Identifier: GPL-2.0
#include "events/stack_dump.h"

#include <bpf/bpf.h>
#include <fmt/format.h>

#include "base/plural.h"

namespace djprobe::loader {
namespace {

constexpr std::size_t kMostShown = 64;
// The upper half of the addresses is the kernel's.
constexpr std::uint64_t kKernel = std::uint64_t{1} << 63;

MapEntry describe(const std::string& map, __u32 id, const std::vector<std::uint64_t>& frames,
                  Symbolizer& symbolizer) {
    MapEntry entry;
    entry.map = map;
    entry.key = id;
    entry.key_text = fmt::to_string(id);
    entry.value = nlohmann::ordered_json::array();
    for (const std::uint64_t frame : frames) {
        if (frame == 0) break;
        const std::string name =
            frame >= kKernel ? symbolizer.describe(frame) : fmt::format("{:#x}", frame);
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

void dump_stacks(const bpf_map* map, Symbolizer& symbolizer, MapDump& out) {
    const std::string name = bpf_map__name(map);
    const int fd = bpf_map__fd(map);
    std::vector<std::uint64_t> frames(bpf_map__value_size(map) / sizeof(std::uint64_t));
    __u32 id = 0, next = 0;
    std::size_t seen = 0;
    // Identifiers ascend, so that the walk ends.
    for (const void* previous = nullptr; bpf_map_get_next_key(fd, previous, &next) == 0; ++seen) {
        id = next;
        previous = &id;
        if (seen >= kMostShown) continue;
        if (bpf_map_lookup_elem(fd, &id, frames.data()) == 0)
            out.entries.push_back(describe(name, id, frames, symbolizer));
    }
    if (seen > kMostShown) out.left_out.push_back({name, seen - kMostShown, false});
}

}  // namespace djprobe::loader
