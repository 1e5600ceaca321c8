// SPDX-License-Identifier: GPL-2.0
#include "base/output.h"

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/say.h"
#include "base/write.h"

namespace djprobe::loader {

// A stop interrupts the write, and again after each second from then on.
bool Output::has_stalled() {
    if (!stop_ || !stop_->requested() || ++interruptions_ < 2) return false;
    say("probeload: stdout takes nothing, the rest is discarded\n");
    return true;
}

void Output::flush() {
    std::size_t done = 0;
    while (!closed_ && done < buffer_.size()) {
        const ssize_t written = write_once(fd_, {buffer_.data() + done, buffer_.size() - done});
        if (written >= 0) {
            done += static_cast<std::size_t>(written);
            interruptions_ = 0;
        } else if (errno == EINTR) {
            closed_ = has_stalled();
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
