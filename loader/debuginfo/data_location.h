// SPDX-License-Identifier: GPL-2.0
// Static variables: where the kernel's data are while it runs.
#pragma once

#include <cstdint>

#include "debuginfo/dwarf_file.h"
#include "debuginfo/location.h"

namespace djprobe::loader {

/// `address` is the file's own. It is counted from the kernel's first byte, which the program finds
/// by its name; of a module, of each CPU, and of what is gone after boot there is none.
Location data_location(const DwarfFile& debug, std::uint64_t address);

}  // namespace djprobe::loader
