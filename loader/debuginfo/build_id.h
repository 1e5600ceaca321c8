// SPDX-License-Identifier: GPL-2.0
// Which build of the kernel runs: debug information of another one would tell wrong lines.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace djprobe::loader {

using BuildId = std::vector<std::uint8_t>;

/// Of the running kernel, or of one of its modules; empty where the kernel does not tell.
BuildId running_build_id(const std::string& module);
/// In the ELF notes of a file like /sys/kernel/notes; empty: none there.
BuildId find_build_id(const std::string& notes);
/// Of an ELF file; empty: it has none, or is no ELF file.
BuildId file_build_id(const std::string& path);

}  // namespace djprobe::loader
