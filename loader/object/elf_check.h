// SPDX-License-Identifier: GPL-2.0
// Is this a BPF object at all? Answers that libbpf's log does not give in one line.
#pragma once

#include <filesystem>
#include <string>

namespace djprobe::loader {

/// Throws Error(kBadFile) when the file cannot be read or is not an ELF object for BPF.
void check_bpf_elf(const std::filesystem::path& file, const std::string& name);

}  // namespace djprobe::loader
