// SPDX-License-Identifier: GPL-2.0
#include "decode/btf_util.h"

#include <algorithm>

#include "base/error.h"
#include "decode/quote.h"

namespace djprobe::loader {
namespace {

// As many as libbpf follows where it resolves a size.
constexpr int kMostModifiers = 32;
// Bytes that a message shows of a name that is not printable.
constexpr std::size_t kMostShown = 64;

bool is_printable(char letter) {
    return letter >= ' ' && letter <= '~' && letter != '"' && letter != '\\';
}

}  // namespace

const btf_type& type_at(const btf& btf, std::uint32_t type_id) {
    const btf_type* const type = btf__type_by_id(&btf, type_id);
    if (type == nullptr) {
        fail(ExitCode::kBadFile, "BTF is inconsistent: it refers to type {}, but has only {}",
             type_id, btf__type_cnt(&btf) - 1);
    }
    return *type;
}

std::uint32_t skip_modifiers(const btf& btf, std::uint32_t type_id) {
    for (int i = 0; i < kMostModifiers; ++i) {
        const btf_type& type = type_at(btf, type_id);
        if (!btf_is_mod(&type) && !btf_is_typedef(&type)) return type_id;
        type_id = type.type;
    }
    fail(ExitCode::kBadFile,
         "BTF is inconsistent: typedefs and qualifiers without an end at type {}", type_id);
}

bool is_char(const btf& btf, std::uint32_t type_id) {
    const btf_type& type = type_at(btf, skip_modifiers(btf, type_id));
    return btf_is_int(&type) && type.size == 1 &&
           ((btf_int_encoding(&type) & BTF_INT_CHAR) != 0 || btf_name(btf, type) == "char");
}

std::string_view btf_name(const btf& btf, const btf_type& type) {
    const char* const name = btf__name_by_offset(&btf, type.name_off);
    return name == nullptr ? "" : name;
}

std::string_view printable_name(const btf& btf, std::uint32_t name_offset) {
    const char* const name = btf__name_by_offset(&btf, name_offset);
    if (name == nullptr) {
        fail(ExitCode::kBadFile, "BTF is inconsistent: a name at {}, which is past its strings",
             name_offset);
    }
    const std::string_view text = name;
    if (!std::ranges::all_of(text, is_printable))
        fail(ExitCode::kBadFile, "BTF has the name '{}', which is none: it allows ASCII only",
             printable(text.substr(0, kMostShown)));
    return text;
}

}  // namespace djprobe::loader
