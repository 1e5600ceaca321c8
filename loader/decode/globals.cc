// SPDX-License-Identifier: GPL-2.0
#include "decode/globals.h"

#include <bpf/btf.h>

#include <algorithm>
#include <string_view>

#include "decode/btf_util.h"

namespace djprobe::loader {
namespace {

bool holds_variables(std::string_view section) {
    constexpr std::string_view kSections[] = {".bss", ".data", ".rodata"};
    return std::ranges::any_of(kSections,
                               [&](std::string_view name) { return section.starts_with(name); });
}

// The map that holds a data section is named OBJECT.SECTION.
bpf_map* map_of(const bpf_object* object, std::string_view section) {
    bpf_map* map = nullptr;
    bpf_object__for_each_map(map, object) {
        if (bpf_map__is_internal(map) && std::string_view(bpf_map__name(map)).ends_with(section))
            return map;
    }
    return nullptr;
}

void add_variables(const btf& types, const btf_type& section, bpf_map* map,
                   std::vector<Global>& globals) {
    for (std::uint32_t i = 0; i < btf_vlen(&section); ++i) {
        const btf_var_secinfo& place = btf_var_secinfos(&section)[i];
        const btf_type& variable = type_at(types, place.type);
        if (!btf_is_var(&variable)) continue;
        if (std::uint64_t{place.offset} + place.size > bpf_map__value_size(map)) continue;
        globals.push_back({.name = std::string(printable_name(types, variable.name_off)),
                           .section = std::string(btf_name(types, section)),
                           .map = map,
                           .type_id = variable.type,
                           .offset = place.offset,
                           .size = place.size,
                           .is_static = btf_var(&variable)->linkage == BTF_VAR_STATIC});
    }
}

}  // namespace

std::vector<Global> globals_of(const bpf_object* object) {
    const btf* const types = bpf_object__btf(object);
    std::vector<Global> globals;
    for (std::uint32_t id = 1; types && id < btf__type_cnt(types); ++id) {
        const btf_type& section = type_at(*types, id);
        if (!btf_is_datasec(&section)) continue;
        const std::string_view name = btf_name(*types, section);
        bpf_map* const map = holds_variables(name) ? map_of(object, name) : nullptr;
        if (map) add_variables(*types, section, map, globals);
    }
    return globals;
}

}  // namespace djprobe::loader
