// SPDX-License-Identifier: GPL-2.0
#include "events/loss.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <fmt/core.h>

#include <cstring>
#include <string_view>
#include <vector>

#include "decode/btf_util.h"

namespace djprobe::loader {
namespace {

constexpr std::string_view kCounterName = "lost";

bool is_counter(const btf& btf, const btf_type& variable) {
    if (!btf_is_var(&variable)) return false;
    if (btf_name(btf, variable) != kCounterName) return false;
    if (btf_var(&variable)->linkage == BTF_VAR_STATIC) return false;
    const btf_type& type = type_at(btf, skip_modifiers(btf, variable.type));
    return btf_is_int(&type) && (type.size == 4 || type.size == 8);
}

// The map that holds a data section is named OBJECT.SECTION.
std::vector<char> read_section(const bpf_object* object, std::string_view section) {
    const bpf_map* map = nullptr;
    bpf_object__for_each_map(map, object) {
        if (!bpf_map__is_internal(map) || bpf_map__fd(map) < 0) continue;
        if (!std::string_view(bpf_map__name(map)).ends_with(section)) continue;
        std::vector<char> bytes(bpf_map__value_size(map));
        const __u32 key = 0;
        if (bpf_map_lookup_elem(bpf_map__fd(map), &key, bytes.data()) == 0) return bytes;
    }
    return {};
}

}  // namespace

std::string Loss::str() const {
    if (exact) return fmt::format("{} lost", *exact);
    return fmt::format(
        "lost unknown (at most {} if each hit sends one; add a global '__u64 lost' and count "
        "failed reserves in it)",
        at_most);
}

std::optional<std::uint64_t> counted_by_program(const bpf_object* object) {
    const btf* const types = bpf_object__btf(object);
    if (types == nullptr) return std::nullopt;
    std::optional<std::uint64_t> total;
    for (__u32 id = 1; id < btf__type_cnt(types); ++id) {
        const btf_type& section = type_at(*types, id);
        if (!btf_is_datasec(&section)) continue;
        const std::string_view name = btf_name(*types, section);
        if (name != ".bss" && name != ".data") continue;
        const std::vector<char> bytes = read_section(object, name);
        for (__u32 i = 0; i < btf_vlen(&section); ++i) {
            const btf_var_secinfo& place = btf_var_secinfos(&section)[i];
            if (!is_counter(*types, type_at(*types, place.type))) continue;
            if (place.size > 8 || std::size_t{place.offset} + place.size > bytes.size()) continue;
            std::uint64_t value = 0;
            std::memcpy(&value, bytes.data() + place.offset, place.size);
            total = total.value_or(0) + value;
        }
    }
    return total;
}

}  // namespace djprobe::loader
