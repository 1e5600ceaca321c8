// SPDX-License-Identifier: GPL-2.0
// Files of C that are compiled within another one: the kernel has fs/binfmt_elf.c also within
// fs/compat_binfmt_elf.c.
#pragma once

#include <string>
#include <vector>

#include "debuginfo/dwarf_file.h"

namespace djprobe::loader {

/// The units that have code of this file, named by the end of its path, though it is not their own.
/// The first question for a kernel takes a second or two.
std::vector<Dwarf_Die> units_including(const DwarfFile& debug, const std::string& file);

}  // namespace djprobe::loader
