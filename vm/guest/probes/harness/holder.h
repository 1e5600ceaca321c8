// SPDX-License-Identifier: GPL-2.0
// A probe that belongs to another process.
#pragma once

#include <sys/types.h>

#include "probe.h"

namespace djprobe::vm {

class Holder {
  public:
    /// Forks a process that attaches and then only answers. Throws std::runtime_error where the
    /// probe was refused.
    explicit Holder(const Request& request);
    Holder(Holder&& other) noexcept;
    Holder& operator=(Holder&&) = delete;
    ~Holder() { end(); }

    uint64_t hits();
    /// By SIGKILL, which is how the process ends anyway: waits until it has gone.
    void end();

  private:
    pid_t pid_;
    Fd socket_;
};

}  // namespace djprobe::vm
