// SPDX-License-Identifier: GPL-2.0
// What a tool's own code sets before it loads its object: global variables, and sizes of maps.
#pragma once

#include <bpf/libbpf.h>

#include <string>

namespace djprobe::loader {

/// "NAME=VALUE" of a global variable, or "NAME.MEMBER=VALUE". A value is a number, true or false,
/// the name of an enum's value, the text of an array of char, or several of these with commas
/// between them, for an array. Throws Error(kUsage).
void assign_global(const bpf_object* object, const std::string& text);

/// "NAME.max_entries=N" or "NAME.value_size=N" of a map. Throws Error(kUsage).
void assign_map(const bpf_object* object, const std::string& text);
/// Whether values of the map have a size that could be set: a ring buffer has none.
inline bool has_values(const bpf_map& map) {
    return bpf_map__type(&map) != BPF_MAP_TYPE_RINGBUF &&
           bpf_map__type(&map) != BPF_MAP_TYPE_USER_RINGBUF;
}

}  // namespace djprobe::loader
