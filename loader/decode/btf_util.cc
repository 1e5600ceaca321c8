// SPDX-License-Identifier: GPL-2.0
#include "decode/btf_util.h"

namespace djprobe::loader {

std::uint32_t skip_modifiers(const btf& btf, std::uint32_t type_id) {
    const btf_type* type = btf__type_by_id(&btf, type_id);
    while (btf_is_mod(type) || btf_is_typedef(type)) {
        type_id = type->type;
        type = btf__type_by_id(&btf, type_id);
    }
    return type_id;
}

bool is_char(const btf& btf, std::uint32_t type_id) {
    const btf_type& type = *btf__type_by_id(&btf, skip_modifiers(btf, type_id));
    return btf_is_int(&type) && type.size == 1 &&
           ((btf_int_encoding(&type) & BTF_INT_CHAR) != 0 ||
            btf_name(btf, type) == std::string_view("char"));
}

}  // namespace djprobe::loader
