// SPDX-License-Identifier: GPL-2.0
#include "survey/module_struct.h"

#include <cstring>
#include <memory>
#include <string_view>

#include "base/error.h"
#include "decode/btf_util.h"

namespace djprobe::loader {
namespace {

struct Member {
    std::size_t offset;
    std::uint32_t type;
};

std::optional<Member> find_member(const btf& types, std::uint32_t id, std::string_view name) {
    const btf_type& type = type_at(types, skip_modifiers(types, id));
    if (!btf_is_struct(&type)) return std::nullopt;
    const btf_member* const members = btf_members(&type);
    for (__u32 i = 0; i < btf_vlen(&type); ++i) {
        const char* const own = btf__name_by_offset(&types, members[i].name_off);
        if (own && own == name) return Member{btf_member_bit_offset(&type, i) / 8, members[i].type};
    }
    return std::nullopt;
}

/// A member of this type that has both.
std::optional<ModuleStruct> find_both(const btf& types, const Member& outer, const char* base,
                                      const char* size) {
    const auto begins = find_member(types, outer.type, base);
    const auto length = find_member(types, outer.type, size);
    if (!begins || !length) return std::nullopt;
    return ModuleStruct{outer.offset + begins->offset, outer.offset + length->offset};
}

template <typename T>
bool read(std::span<const std::uint8_t> bytes, std::size_t offset, T& out) {
    if (offset > bytes.size() || sizeof out > bytes.size() - offset) return false;
    std::memcpy(&out, bytes.data() + offset, sizeof out);
    return true;
}

}  // namespace

std::optional<std::uint64_t> ModuleStruct::text_size(std::span<const std::uint8_t> bytes,
                                                     std::uint64_t begin) const {
    std::uint64_t at = 0;
    std::uint32_t length = 0;
    if (!read(bytes, base, at) || !read(bytes, size, length) || at != begin || length == 0)
        return std::nullopt;
    return length;
}

std::optional<ModuleStruct> find_module_struct(const btf& types) {
    const int id = btf__find_by_name_kind(&types, "module", BTF_KIND_STRUCT);
    if (id <= 0) return std::nullopt;
    // A kind of memory each, and the text is the first; or, to Linux 6.3, one area for all.
    if (auto kinds = find_member(types, static_cast<std::uint32_t>(id), "mem")) {
        const btf_type& array = type_at(types, kinds->type);
        if (!btf_is_array(&array)) return std::nullopt;
        kinds->type = btf_array(&array)->type;
        return find_both(types, *kinds, "base", "size");
    }
    const auto area = find_member(types, static_cast<std::uint32_t>(id), "core_layout");
    return area ? find_both(types, *area, "base", "text_size") : std::nullopt;
}

std::optional<ModuleStruct> running_module_struct() {
    static const auto known = []() -> std::optional<ModuleStruct> {
        const std::unique_ptr<btf, decltype(&btf__free)> types(
            btf__parse("/sys/kernel/btf/vmlinux", nullptr), btf__free);
        return types ? find_module_struct(*types) : std::nullopt;
    }();
    return known;
}

}  // namespace djprobe::loader
