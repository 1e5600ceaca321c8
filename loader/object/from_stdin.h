// SPDX-License-Identifier: GPL-2.0
// FILE as a stream: `probeload attach -`.
#pragma once

#include <filesystem>

#include "base/temp_dir.h"

namespace djprobe::loader {

/// True for "-", /dev/stdin and its other names.
bool is_stdin(const std::filesystem::path& file);

/// Reads all of stdin into a file of the directory, a BPF object by its first bytes or else a
/// source (stdin.bpf.c), whose lines clang counts as those of <stdin>. Throws Error(kBadFile) where
/// there is nothing to read.
std::filesystem::path save_stdin(TempDir& directory);

}  // namespace djprobe::loader
