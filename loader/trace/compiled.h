// SPDX-License-Identifier: GPL-2.0
// A program's text as an object: compiled, or from the cache.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/process.h"
#include "base/temp_dir.h"

namespace djprobe::loader {

/// The object's path, in the cache or in `directory`. `header` is its vmlinux.h, `flags`
/// are clang's. Throws Error(kCompile).
std::filesystem::path compiled(const std::string& source, const std::string& header,
                               const std::vector<std::string>& flags, TempDir& directory,
                               Process process = Process::kOurs);

}  // namespace djprobe::loader
