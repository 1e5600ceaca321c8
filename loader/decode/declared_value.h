// SPDX-License-Identifier: GPL-2.0
// The type of a map's values, as its declaration in the object has it.
#pragma once

#include <bpf/btf.h>

#include <cstdint>
#include <string_view>

namespace djprobe::loader {

/// Of __type(value, TYPE) in SEC(".maps"); 0 if there is none. For the maps that the kernel takes
/// without types: libbpf forgets theirs when it makes them. Throws where the BTF is inconsistent.
std::uint32_t declared_value_type(const btf& btf, std::string_view map);

}  // namespace djprobe::loader
