// SPDX-License-Identifier: GPL-2.0
#include "events/queue_dump.h"

#include <bpf/bpf.h>
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "decode/declared_value.h"
#include "events/value_printer.h"

namespace djprobe::loader {
namespace {

constexpr std::size_t kMostQueued = 64;

bool take(const bpf_map* map, bool out_of_it, std::vector<std::byte>& value) {
    const int fd = bpf_map__fd(map);
    const int error = out_of_it ? bpf_map_lookup_and_delete_elem(fd, nullptr, value.data())
                                : bpf_map_lookup_elem(fd, nullptr, value.data());
    return error == 0;
}

std::uint32_t value_type(const btf* btf, const std::string& map) {
    try {
        return btf == nullptr ? 0 : declared_value_type(*btf, map);
    } catch (const Error&) {
        return 0;
    }
}

}  // namespace

bool is_queue(const bpf_map* map) {
    return bpf_map__type(map) == BPF_MAP_TYPE_QUEUE || bpf_map__type(map) == BPF_MAP_TYPE_STACK;
}

void dump_queue(const btf* btf, const bpf_map* map, bool at_end, FrameNames& names, MapDump& out) {
    const std::string name = bpf_map__name(map);
    const bool empties = at_end && !bpf_map__is_pinned(map);
    std::vector<std::byte> value(bpf_map__value_size(map));
    ValuePrinter printer(btf, value_type(btf, name), value.size(), name, &names);
    const std::size_t most = empties ? bpf_map__max_entries(map) : 1;
    std::size_t seen = 0;
    for (; seen < most && take(map, empties, value); ++seen) {
        if (seen >= kMostQueued) continue;
        MapEntry entry;
        entry.map = name;
        entry.key = seen;
        entry.key_text = fmt::to_string(seen);
        entry.value_text = printer.text(value);
        entry.value = printer.json(value);
        entry.chart = printer.charts(value);
        out.entries.push_back(std::move(entry));
    }
    if (seen > kMostQueued) out.left_out.push_back({name, seen - kMostQueued, false});
}

}  // namespace djprobe::loader
