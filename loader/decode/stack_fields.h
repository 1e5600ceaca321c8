// SPDX-License-Identifier: GPL-2.0
// Which members of a type are stacks, and whose? By their names, as programs of all tools have
// them.
#pragma once

#include <bpf/btf.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "decode/frame.h"

namespace djprobe::loader {

/// What an array with this name holds: numbers of 64 bits in one whose name has "stack" in it are
/// addresses. None: it is no stack.
std::optional<StackKind> stack_kind(const btf& btf, const btf_type& array, std::string_view name);

struct StackFields {
    struct Stack {
        StackKind kind;
        std::uint32_t offset;
        std::uint32_t size;  ///< bytes; 0: up to the record's end
    };
    struct Place {
        std::uint32_t offset;
        std::uint32_t size;
    };
    std::vector<Stack> stacks;
    std::vector<Place> ids;          ///< of stacks in a map: signed integers, a name with "stack"
    std::optional<Place> task_name;  ///< the first array of char
    std::optional<Place> process;    ///< "tgid", or else "pid"
    std::optional<Place> count;      ///< the first integer that is none of these
};

/// Of a value of this type, whose name is that of a map, or "". Throws Error(kBadFile).
StackFields stack_fields_of(const btf& btf, std::uint32_t type_id, std::string_view name);

}  // namespace djprobe::loader
