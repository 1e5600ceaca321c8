// SPDX-License-Identifier: GPL-2.0
// What is read of a DIE in several places.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>

namespace djprobe::loader {

/// The attribute's number; 0: it has none.
inline std::uint64_t number_of(Dwarf_Die& die, unsigned attribute) {
    Dwarf_Attribute found;
    Dwarf_Word value = 0;
    if (dwarf_attr(&die, attribute, &found)) dwarf_formudata(&found, &value);
    return value;
}

}  // namespace djprobe::loader
