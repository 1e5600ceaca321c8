// SPDX-License-Identifier: GPL-2.0
#include "base/regular_file.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace djprobe::loader {

UniqueFd open_regular(const std::filesystem::path& file, struct stat& status) {
    // A FIFO without a writer must not keep us waiting.
    UniqueFd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!fd || fstat(fd.get(), &status) < 0) {
        fail(ExitCode::kBadFile, "{}: {}", file.string(), std::strerror(errno));
    }
    if (!S_ISREG(status.st_mode)) {
        fail(ExitCode::kBadFile, "{}: not a regular file", file.string());
    }
    return fd;
}

}  // namespace djprobe::loader
