// SPDX-License-Identifier: GPL-2.0
#include "base/write.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace djprobe::loader {

ssize_t write_once(int fd, std::string_view bytes) noexcept {
    for (;;) {
        const ssize_t written = write(fd, bytes.data(), bytes.size());
        if (written >= 0 || errno != EAGAIN) return written;
        pollfd full = {fd, POLLOUT, 0};
        if (poll(&full, 1, -1) < 0) return -1;
    }
}

ssize_t write_some(int fd, std::string_view bytes) noexcept {
    for (;;) {
        const ssize_t written = write_once(fd, bytes);
        if (written >= 0 || errno != EINTR) return written;
    }
}

}  // namespace djprobe::loader
