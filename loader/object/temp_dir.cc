// SPDX-License-Identifier: GPL-2.0
#include "object/temp_dir.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>

#include "base/error.h"

namespace djprobe::loader {

TempDir::TempDir() {
    std::error_code ignored;
    std::filesystem::path parent = std::filesystem::temp_directory_path(ignored);
    if (parent.empty()) parent = "/tmp";
    std::string pattern = parent / "probeload.XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) {
        fail(ExitCode::kFailure, "cannot make a directory in {}: {}", parent.string(),
             std::strerror(errno));
    }
    path_ = pattern;
}

TempDir::~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

}  // namespace djprobe::loader
