// SPDX-License-Identifier: GPL-2.0
// Which struct do a map's records hold? The convention, in one place.
#pragma once

#include <bpf/btf.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace djprobe::loader {

struct RecordType {
    std::uint32_t type_id;  ///< a struct or union, typedefs resolved
    std::string name;       ///< as found: the struct's or typedef's name
};

/// The names that a map's records may have: the map's, and the map's without a plural s; each also
/// with _t. In this order.
std::vector<std::string> record_type_names(std::string_view map_name);

/// Looks in BTF for a struct, a union or a typedef of one by these names. Where none is found and
/// the map is the object's only event map, the struct of the object's only anchor (a global
/// pointer to a struct, see below) serves. btf may be null: nothing is found.
std::optional<RecordType> find_record_type(const btf* btf, std::string_view map_name,
                                           bool is_only_event_map);

/// What to write into the program so that the type is found: clang emits BTF only for types that a
/// global refers to.
std::string anchor_hint(std::string_view map_name);

}  // namespace djprobe::loader
