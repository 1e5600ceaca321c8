// SPDX-License-Identifier: GPL-2.0
// Types of a kernel as a header for CO-RE programs.
#pragma once

#include <bpf/btf.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace djprobe::loader {

/// All of a BTF, in its order.
std::vector<std::uint32_t> all_types(const btf& types);

/// These types and those that they contain. Throws Error(kCompile); `from` is for its message.
std::string types_header(const btf& types, std::span<const std::uint32_t> wanted,
                         const std::string& from);

}  // namespace djprobe::loader
