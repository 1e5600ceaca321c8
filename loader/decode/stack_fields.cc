// SPDX-License-Identifier: GPL-2.0
#include "decode/stack_fields.h"

#include <algorithm>
#include <cctype>

#include "decode/btf_util.h"

namespace djprobe::loader {
namespace {

constexpr int kDeepestStack = 16;
// A file may say that there are more than anyone could look at.
constexpr int kMostMembers = 1 << 15;

bool is_stack_name(std::string_view name) {
    constexpr std::string_view kWord = "stack";
    const auto same = [](char a, char b) {
        return std::tolower(static_cast<unsigned char>(a)) == b;
    };
    // clang 14, which builds the fuzzers, does not compile the search in std::ranges of gcc 12.
    return std::search(name.begin(), name.end(), kWord.begin(), kWord.end(), same) != name.end();
}

bool is_size(std::string_view name) {
    return name.ends_with("size") || name.ends_with("sz") || name.ends_with("len");
}

class Finder {
  public:
    explicit Finder(const btf& btf) : btf_(btf) {}

    void look_at(std::uint32_t type_id, std::uint32_t offset, std::string_view name, int depth) {
        const btf_type& type = type_at(btf_, skip_modifiers(btf_, type_id));
        if (btf_is_composite(&type) && depth < kDeepestStack) return look_into(type, offset, depth);
        if (btf_is_array(&type)) return look_at_array(type, offset, name);
        if (btf_is_int(&type)) look_at_integer(type, offset, name);
    }

    StackFields found;

  private:
    void look_into(const btf_type& type, std::uint32_t offset, int depth) {
        for (std::uint32_t i = 0; i < btf_vlen(&type); ++i) {
            if (++members_ > kMostMembers) return;
            if (btf_member_bitfield_size(&type, i) != 0) continue;
            const btf_member& member = btf_members(&type)[i];
            const char* const name = btf__name_by_offset(&btf_, member.name_off);
            look_at(member.type, offset + btf_member_bit_offset(&type, i) / 8, name ? name : "",
                    depth + 1);
        }
    }

    void look_at_array(const btf_type& type, std::uint32_t offset, std::string_view name) {
        const std::uint32_t count = btf_array(&type)->nelems;
        if (const auto kind = stack_kind(btf_, type, name))
            found.stacks.push_back(
                {*kind, offset, static_cast<std::uint32_t>(count * frame_size(*kind))});
        else if (is_char(btf_, btf_array(&type)->type) && !found.task_name)
            found.task_name = {offset, count};
    }

    void look_at_integer(const btf_type& type, std::uint32_t offset, std::string_view name) {
        const StackFields::Place place{offset, type.size};
        if (type.size != 4 && type.size != 8) return;
        if (is_stack_name(name) && !is_size(name)) return found.ids.push_back(place);
        if (name == "tgid" || (name == "pid" && !found.process)) {
            found.process = place;
        } else if (!found.count && !is_size(name)) {
            found.count = place;
        }
    }

    const btf& btf_;
    int members_ = 0;
};

}  // namespace

std::optional<StackKind> stack_kind(const btf& btf, const btf_type& array, std::string_view name) {
    const btf_type& element = type_at(btf, skip_modifiers(btf, btf_array(&array)->type));
    if (btf_is_composite(&element) && btf_name(btf, element) == "bpf_stack_build_id" &&
        element.size == frame_size(StackKind::kBuildIds))
        return StackKind::kBuildIds;
    const bool is_wide = btf_is_ptr(&element) || (btf_is_int(&element) && element.size == 8);
    return is_wide && is_stack_name(name) ? std::optional(StackKind::kAddresses) : std::nullopt;
}

StackFields stack_fields_of(const btf& btf, std::uint32_t type_id, std::string_view name) {
    Finder finder(btf);
    finder.look_at(type_id, 0, name, 0);
    return finder.found;
}

}  // namespace djprobe::loader
