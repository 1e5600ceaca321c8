// SPDX-License-Identifier: GPL-2.0
// Which programs do others reach by tail calls? libbpf fills a PROG_ARRAY from what the object says
// of its slots, and tells nobody which programs these are.
#pragma once

#include <filesystem>
#include <set>
#include <string>

namespace djprobe::loader {

/// The programs that stand in slots of the object's maps (`.values = {[0] = &program}`).
std::set<std::string> tail_called_programs(const std::filesystem::path& object);

}  // namespace djprobe::loader
