// SPDX-License-Identifier: GPL-2.0
// A child process that waits to be told to go on.
#pragma once

#include <sys/types.h>

#include <functional>

#include "asks.h"

namespace djprobe::vm {

class WaitingChild {
  public:
    /// It has copies of all descriptors, and runs `work` once it may go on. Throws
    /// std::system_error.
    explicit WaitingChild(const std::function<void()>& work);

    [[nodiscard]] pid_t number() const { return number_; }
    /// Lets it go on, and waits for its end. Once.
    void run_to_its_end();

  private:
    Fd gate_;  // it goes on when this is closed
    pid_t number_;
};

}  // namespace djprobe::vm
