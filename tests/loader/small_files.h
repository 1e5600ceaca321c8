// SPDX-License-Identifier: GPL-2.0
// A disk that is full, for one test.
#pragma once

#include <sys/resource.h>

#include <csignal>

namespace djprobe::loader {

/// While it lives, no file of this process may be longer.
class SmallFiles {
  public:
    explicit SmallFiles(rlim_t bytes) {
        getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit small = {bytes, before_.rlim_max};
        setrlimit(RLIMIT_FSIZE, &small);
    }
    ~SmallFiles() {
        setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, signal_);
    }

  private:
    rlimit before_{};
    void (*signal_)(int) = std::signal(SIGXFSZ, SIG_IGN);
};

}  // namespace djprobe::loader
