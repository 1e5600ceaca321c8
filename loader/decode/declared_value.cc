// SPDX-License-Identifier: GPL-2.0
#include "decode/declared_value.h"

#include <span>

#include "decode/btf_util.h"

namespace djprobe::loader {
namespace {

// __type() is a member that points to the type.
std::uint32_t value_of(const btf& btf, const btf_type& declaration) {
    if (!btf_is_struct(&declaration)) return 0;
    for (const btf_member& member : std::span(btf_members(&declaration), btf_vlen(&declaration))) {
        const char* const name = btf__name_by_offset(&btf, member.name_off);
        if (name == nullptr || std::string_view(name) != "value") continue;
        const btf_type& pointer = type_at(btf, member.type);
        return btf_is_ptr(&pointer) ? pointer.type : 0;
    }
    return 0;
}

}  // namespace

std::uint32_t declared_value_type(const btf& btf, std::string_view map) {
    const int section_id = btf__find_by_name_kind(&btf, ".maps", BTF_KIND_DATASEC);
    if (section_id < 0) return 0;
    const btf_type& section = type_at(btf, static_cast<std::uint32_t>(section_id));
    for (const btf_var_secinfo& place : std::span(btf_var_secinfos(&section), btf_vlen(&section))) {
        const btf_type& variable = type_at(btf, place.type);
        if (btf_is_var(&variable) && btf_name(btf, variable) == map)
            return value_of(btf, type_at(btf, skip_modifiers(btf, variable.type)));
    }
    return 0;
}

}  // namespace djprobe::loader
