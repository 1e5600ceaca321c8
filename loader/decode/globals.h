// SPDX-License-Identifier: GPL-2.0
// The global variables of an object.
#pragma once

#include <bpf/libbpf.h>

#include <cstdint>
#include <string>
#include <vector>

namespace djprobe::loader {

struct Global {
    std::string name;
    std::string section;  ///< ".bss", ".data", ".rodata" or one that begins so
    bpf_map* map;         ///< has the section as its only value
    std::uint32_t type_id;
    std::uint32_t offset;  ///< in that
    std::uint32_t size;
    bool is_static;
};

/// Those that the program can read or write and that BTF describes, as they lie in memory. Throws
/// Error(kBadFile).
std::vector<Global> globals_of(const bpf_object* object);

}  // namespace djprobe::loader
