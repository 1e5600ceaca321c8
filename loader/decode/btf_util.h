// SPDX-License-Identifier: GPL-2.0
// Small questions to BTF. It comes from a file, and libbpf does not check that a type it refers to
// is there; these functions do. They throw Error(kBadFile).
#pragma once

#include <bpf/btf.h>

#include <cstdint>
#include <string_view>

namespace djprobe::loader {

/// The type of this number; 0 is void. Throws if there is none.
const btf_type& type_at(const btf& btf, std::uint32_t type_id);
/// The type behind const, volatile, restrict, type tags and typedefs. Throws if they lead nowhere.
std::uint32_t skip_modifiers(const btf& btf, std::uint32_t type_id);
/// True for char (not for __u8, which is a number).
bool is_char(const btf& btf, std::uint32_t type_id);
/// For comparing: empty if it has none.
std::string_view btf_name(const btf& btf, const btf_type& type);
/// For printing, in text and in JSON, as it is: of printable ASCII without quote and backslash.
/// Throws if it is anything else.
std::string_view printable_name(const btf& btf, std::uint32_t name_offset);

}  // namespace djprobe::loader
