// SPDX-License-Identifier: GPL-2.0
// The files that a kernel was made of.
#pragma once

#include <string>
#include <vector>

#include "debuginfo/dwarf_file.h"

namespace djprobe::loader {

/// As the debug information names them, headers too.
std::vector<std::string> source_files(const DwarfFile& debug);
/// Whether a path ends in whole parts of another: "read_write.c" is no "write.c".
bool path_ends_in(const std::string& path, const std::string& end);
/// Also where one goes through "..".
bool is_same_path(const std::string& one, const std::string& other);
bool has_file(const std::vector<std::string>& files, const std::string& name);
/// "; did you mean fs/read_write.c?", or "".
std::string similar_file(const std::vector<std::string>& files, const std::string& name);

}  // namespace djprobe::loader
