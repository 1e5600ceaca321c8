// SPDX-License-Identifier: GPL-2.0
#include "child.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace djprobe::vm {

WaitingChild::WaitingChild(const std::function<void()>& work) {
    int ends[2];
    if (pipe(ends) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
    const Fd far_end(ends[0]);
    gate_ = Fd(ends[1]);
    number_ = fork();
    if (number_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
    if (number_ != 0) return;
    gate_.reset();
    char byte = 0;
    (void)!read(far_end.get(), &byte, 1);
    work();
    _exit(0);
}

void WaitingChild::run_to_its_end() {
    gate_.reset();
    waitpid(number_, nullptr, 0);
}

}  // namespace djprobe::vm
