// SPDX-License-Identifier: GPL-2.0
#include "base/output.h"

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/write.h"

namespace djprobe::loader {

void Output::flush() {
    std::size_t done = 0;
    while (!closed_ && done < buffer_.size()) {
        const ssize_t written = write_some(fd_, {buffer_.data() + done, buffer_.size() - done});
        if (written >= 0) {
            done += static_cast<std::size_t>(written);
        } else if (errno == EPIPE) {
            closed_ = true;
        } else {
            const int error = errno;
            closed_ = true;
            buffer_.clear();
            fail(ExitCode::kFailure, "stdout: {}", std::strerror(error));
        }
    }
    buffer_.clear();
}

}  // namespace djprobe::loader
