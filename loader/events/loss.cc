// SPDX-License-Identifier: GPL-2.0
#include "events/loss.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <fmt/core.h>

#include <cstring>
#include <string_view>
#include <vector>

#include "decode/btf_util.h"
#include "decode/globals.h"

namespace djprobe::loader {
namespace {

bool is_counter(const btf& btf, const Global& global) {
    if (global.name != kLossCounter || global.is_static) return false;
    if (global.section != ".bss" && global.section != ".data") return false;
    const btf_type& type = type_at(btf, skip_modifiers(btf, global.type_id));
    return btf_is_int(&type) && (type.size == 4 || type.size == 8) && global.size == type.size;
}

std::optional<std::uint64_t> value_of(const Global& global) {
    std::vector<char> section(bpf_map__value_size(global.map));
    const __u32 key = 0;
    if (bpf_map_lookup_elem(bpf_map__fd(global.map), &key, section.data()) != 0)
        return std::nullopt;
    std::uint64_t value = 0;
    std::memcpy(&value, section.data() + global.offset, global.size);
    return value;
}

}  // namespace

std::string Loss::str() const {
    if (exact) return fmt::format("{} lost", *exact);
    if (at_most == 0)
        return "lost not counted (add a global '__u64 lost' and count failed reserves in it)";
    return fmt::format(
        "lost unknown (at most {} if each hit sends one; add a global '__u64 lost' and count "
        "failed reserves in it)",
        at_most);
}

std::optional<std::uint64_t> counted_by_program(const bpf_object* object) {
    std::optional<std::uint64_t> total;
    for (const Global& global : globals_of(object)) {
        if (!is_counter(*bpf_object__btf(object), global)) continue;
        if (const auto value = value_of(global)) total = total.value_or(0) + *value;
    }
    return total;
}

}  // namespace djprobe::loader
