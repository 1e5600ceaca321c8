// SPDX-License-Identifier: GPL-2.0
#include <fcntl.h>
#include <unistd.h>

#include "cli/app.h"

namespace {

// The parent process may have closed them: then a descriptor of ours would pass for stdout.
void open_standard_descriptors() {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
        // A table that has no stdout to go to is an error, and not lost without a word.
        if (fcntl(fd, F_GETFD) < 0) open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_RDWR);
}

}  // namespace

int main(int argc, char** argv) {
    open_standard_descriptors();
    return djprobe::loader::run_probeload(argc, argv);
}
