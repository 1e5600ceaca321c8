// SPDX-License-Identifier: GPL-2.0
// relay: passes a pipe (stdin) on to a virtio-serial port (stdout) until all of
// the pipe's writers are gone.
//
// Not `cat`: that would enter vfs_read for each piece of output, and a command
// that prints what it sees of vfs_read would never come to an end.
#include <fcntl.h>
#include <poll.h>

#include <cerrno>

int main() {
    constexpr size_t kMost = 65536;
    pollfd input{.fd = 0, .events = POLLIN, .revents = 0};
    // The port's splice does not wait for an empty pipe but returns 0, hence poll.
    while (poll(&input, 1, -1) > 0 || errno == EINTR) {
        if ((input.revents & POLLIN) == 0) {
            if (input.revents != 0) return 0;  // POLLHUP: no writer left
            continue;
        }
        if (splice(0, nullptr, 1, nullptr, kMost, 0) < 0 && errno != EINTR) return 1;
    }
    return 1;
}
