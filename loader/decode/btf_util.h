// SPDX-License-Identifier: GPL-2.0
// Small questions to BTF.
#pragma once

#include <bpf/btf.h>

#include <cstdint>
#include <string_view>

namespace djprobe::loader {

/// The type behind const, volatile, restrict, type tags and typedefs.
std::uint32_t skip_modifiers(const btf& btf, std::uint32_t type_id);
/// True for char (not for __u8, which is a number).
bool is_char(const btf& btf, std::uint32_t type_id);
inline const char* btf_name(const btf& btf, const btf_type& type) {
    return btf__name_by_offset(&btf, type.name_off);
}

}  // namespace djprobe::loader
