// SPDX-License-Identifier: GPL-2.0
#include <bpf/bpf.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstring>
#include <vector>

#include "decode/globals.h"
#include "events/loss.h"
#include "events/map_dump.h"
#include "kernel/possible_cpus.h"

namespace djprobe::loader {
namespace {

// The next key is asked for before one goes: from the map's beginning each would be looked for over
// all those that have gone.
template <typename Action>
void for_each_key(const bpf_map* map, Action&& action) {
    std::vector<std::byte> key(bpf_map__key_size(map)), next(key.size());
    const int fd = bpf_map__fd(map);
    bool more = bpf_map_get_next_key(fd, nullptr, key.data()) == 0;
    for (std::size_t i = 0; more && i < bpf_map__max_entries(map); ++i) {
        more = bpf_map_get_next_key(fd, key.data(), next.data()) == 0;
        action(fd, key.data());
        key.swap(next);
    }
}

void remove_all(const bpf_map* map) {
    for_each_key(map, [](int fd, const void* key) { bpf_map_delete_elem(fd, key); });
}

void zero_all(const bpf_map* map) {
    // The kernel rounds each CPU's slot up to 8 bytes.
    const bool per_cpu = bpf_map__type(map) == BPF_MAP_TYPE_PERCPU_ARRAY;
    const auto cpus = per_cpu ? possible_cpus() : 1;
    const std::vector<std::byte> zero((std::size_t{bpf_map__value_size(map)} + 7) / 8 * 8 * cpus);
    for_each_key(
        map, [&](int fd, const void* key) { bpf_map_update_elem(fd, key, zero.data(), BPF_ANY); });
}

// Writes into the kernel's own memory: of a section's map the kernel would take only a whole value,
// which has what other variables were a moment ago.
void zero(const Global& global) {
    const std::size_t size = bpf_map__value_size(global.map);
    void* const section =
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(global.map), 0);
    if (section == MAP_FAILED) return;
    std::memset(static_cast<std::byte*>(section) + global.offset, 0, global.size);
    munmap(section, size);
}

// .data has what the program is to find there.
void zero_variables(const bpf_object* object) {
    for (const Global& global : globals_of(object))
        if (global.section.starts_with(".bss") && global.name != kLossCounter) zero(global);
}

}  // namespace

void clear_results(const bpf_object* object) {
    zero_variables(object);
    const bpf_map* map = nullptr;
    bpf_object__for_each_map(map, object) {
        if (bpf_map__is_internal(map)) continue;
        switch (bpf_map__type(map)) {
            case BPF_MAP_TYPE_ARRAY:
            case BPF_MAP_TYPE_PERCPU_ARRAY:
                zero_all(map);
                break;
            case BPF_MAP_TYPE_HASH:
            case BPF_MAP_TYPE_LRU_HASH:
            case BPF_MAP_TYPE_PERCPU_HASH:
            case BPF_MAP_TYPE_LRU_PERCPU_HASH:
            case BPF_MAP_TYPE_STACK_TRACE:
                remove_all(map);
                break;
            default:
                break;
        }
    }
}

}  // namespace djprobe::loader
