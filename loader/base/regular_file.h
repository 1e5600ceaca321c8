// SPDX-License-Identifier: GPL-2.0
// The FILE that the user names.
#pragma once

#include <sys/stat.h>

#include <filesystem>

#include "base/unique_fd.h"

namespace djprobe::loader {

/// Opens it for reading and tells its status. Throws Error(kBadFile) for what cannot be opened or
/// is no regular file.
UniqueFd open_regular(const std::filesystem::path& file, struct stat& status);

}  // namespace djprobe::loader
