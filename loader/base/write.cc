// SPDX-License-Identifier: GPL-2.0
#include "base/write.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace djprobe::loader {

ssize_t write_some(int fd, std::string_view bytes) noexcept {
    for (;;) {
        const ssize_t written = write(fd, bytes.data(), bytes.size());
        if (written >= 0) return written;
        if (errno == EAGAIN) {
            pollfd full = {fd, POLLOUT, 0};
            poll(&full, 1, -1);
        } else if (errno != EINTR) {
            return -1;
        }
    }
}

}  // namespace djprobe::loader
