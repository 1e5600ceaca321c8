// SPDX-License-Identifier: GPL-2.0
#include "object/btf_check.h"

#include <cstdint>

#include "base/error.h"
#include "decode/btf_util.h"

namespace djprobe::loader {
namespace {

void check_named(const btf& btf, std::uint32_t name_offset, std::uint32_t type_id) {
    printable_name(btf, name_offset);
    skip_modifiers(btf, type_id);
}

void require_kind(bool holds, std::uint32_t type_id, const char* kind) {
    if (!holds) {
        fail(ExitCode::kBadFile, "BTF is inconsistent: type {} refers to something that is no {}",
             type_id, kind);
    }
}

void check_type(const btf& btf, std::uint32_t id) {
    const btf_type& type = type_at(btf, id);
    // A section is named by the program's author, not by C.
    if (btf_is_datasec(&type)) {
        for (std::uint32_t i = 0; i < btf_vlen(&type); ++i) {
            const btf_type& part = type_at(btf, btf_var_secinfos(&type)[i].type);
            require_kind(btf_is_var(&part) || btf_is_func(&part), id, "variable or function");
        }
        return;
    }
    // Nor is a tag: its text is free, and the loader does not print it.
    const bool is_tag = btf_is_decl_tag(&type) || btf_is_type_tag(&type);
    if (!is_tag) printable_name(btf, type.name_off);
    switch (btf_kind(&type)) {
        case BTF_KIND_FUNC:
            return require_kind(btf_is_func_proto(&type_at(btf, type.type)), id, "prototype");
        case BTF_KIND_PTR:
        case BTF_KIND_TYPEDEF:
        case BTF_KIND_VOLATILE:
        case BTF_KIND_CONST:
        case BTF_KIND_RESTRICT:
        case BTF_KIND_TYPE_TAG:
        case BTF_KIND_VAR:
        case BTF_KIND_DECL_TAG:
            skip_modifiers(btf, type.type);
            return;
        case BTF_KIND_ARRAY:
            skip_modifiers(btf, btf_array(&type)->type);
            skip_modifiers(btf, btf_array(&type)->index_type);
            return;
        case BTF_KIND_STRUCT:
        case BTF_KIND_UNION:
            for (std::uint32_t i = 0; i < btf_vlen(&type); ++i)
                check_named(btf, btf_members(&type)[i].name_off, btf_members(&type)[i].type);
            return;
        case BTF_KIND_FUNC_PROTO:
            skip_modifiers(btf, type.type);
            for (std::uint32_t i = 0; i < btf_vlen(&type); ++i)
                check_named(btf, btf_params(&type)[i].name_off, btf_params(&type)[i].type);
            return;
        default:
            return;
    }
}

}  // namespace

void check_btf(const btf& btf) {
    for (std::uint32_t id = 1; id < btf__type_cnt(&btf); ++id)
        check_type(btf, id);
}

}  // namespace djprobe::loader
