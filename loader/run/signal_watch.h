// SPDX-License-Identifier: GPL-2.0
// Which signals reach a tool without probeload's help.
#pragma once

#include <sys/types.h>

#include <memory>

#include "run/bpf/signals.h"  // the skeleton uses its types

struct signals;

namespace djprobe::loader {

class SignalWatch {
  public:
    /// By a program on a tracepoint. Without what that needs it knows of no signal: rights,
    /// tracefs, and a PID namespace that is the machine's own.
    SignalWatch();

    void follow(pid_t tool);
    /// Of a signal that has just come to probeload: whether its sender has sent it to the tool,
    /// too, as `timeout` does, a service manager, and kill of a process group. May wait for some
    /// ms.
    [[nodiscard]] bool reached_tool(int number) const;

  private:
    struct Close {
        void operator()(signals* object) const;
    };

    std::unique_ptr<signals, Close> object_;
};

}  // namespace djprobe::loader
