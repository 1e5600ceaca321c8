// SPDX-License-Identifier: GPL-2.0
#include "decode/record_type.h"

#include <fmt/core.h>

#include <set>

#include "decode/btf_util.h"

namespace djprobe::loader {
namespace {

bool is_record(const btf& btf, std::uint32_t type_id) {
    return btf_is_composite(&type_at(btf, type_id));
}

std::optional<RecordType> find_by_name(const btf& btf, const std::string& name) {
    // Where names collide, the program's own types come last.
    for (std::uint32_t id = btf__type_cnt(&btf); id-- > 1;) {
        const btf_type& type = type_at(btf, id);
        if (!btf_is_composite(&type) && !btf_is_typedef(&type)) continue;
        if (name != btf_name(btf, type)) continue;
        const std::uint32_t resolved = skip_modifiers(btf, id);
        if (is_record(btf, resolved)) return RecordType{resolved, name};
    }
    return std::nullopt;
}

std::optional<RecordType> find_only_anchor(const btf& btf) {
    std::set<std::uint32_t> anchored;
    for (std::uint32_t id = 1; id < btf__type_cnt(&btf); ++id) {
        const btf_type& variable = type_at(btf, id);
        if (!btf_is_var(&variable)) continue;
        const btf_type& pointer = type_at(btf, skip_modifiers(btf, variable.type));
        if (!btf_is_ptr(&pointer)) continue;
        const std::uint32_t target = skip_modifiers(btf, pointer.type);
        if (is_record(btf, target)) anchored.insert(target);
    }
    if (anchored.size() != 1) return std::nullopt;
    const std::uint32_t id = *anchored.begin();
    const std::string name(printable_name(btf, type_at(btf, id).name_off));
    return RecordType{id, name.empty() ? "record" : name};
}

std::string_view singular(std::string_view name) {
    if (name.size() > 1 && name.ends_with('s')) name.remove_suffix(1);
    return name;
}

}  // namespace

std::vector<std::string> record_type_names(std::string_view map_name) {
    const std::string name(map_name);
    const std::string one(singular(map_name));
    std::vector<std::string> names = {name, name + "_t"};
    if (one != name) names.insert(names.end(), {one, one + "_t"});
    return names;
}

std::optional<RecordType> find_record_type(const btf* btf, std::string_view map_name,
                                           bool is_only_event_map) {
    if (btf == nullptr) return std::nullopt;
    for (const std::string& name : record_type_names(map_name)) {
        if (auto found = find_by_name(*btf, name)) return found;
    }
    return is_only_event_map ? find_only_anchor(*btf) : std::nullopt;
}

std::string anchor_hint(std::string_view map_name) {
    const std::string name(singular(map_name));
    return fmt::format(
        "name the record 'struct {0}' and add 'const struct {0} *unused_{0} "
        "__attribute__((unused));' to the program",
        name);
}

}  // namespace djprobe::loader
