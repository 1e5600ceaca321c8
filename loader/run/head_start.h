// SPDX-License-Identifier: GPL-2.0
// What a tool's first request would have to wait for, begun while the tool starts: that takes tools
// seconds, in which they compile.
#pragma once

#include <future>

#include "djprobe.h"
#include "kernel/device.h"
#include "kernel/kallsyms.h"

namespace djprobe::loader {

class HeadStart {
  public:
    explicit HeadStart(const Device& device) : device_(device) {}

    /// Begins. Not before the tool has been forked: a fork copies no threads.
    void begin();
    /// Waits until the module knows what may land where in the kernel's text, if that has begun: a
    /// request that asks meanwhile would find that out a second time.
    void await_module() const;
    /// The kernel's symbols. Throws std::system_error.
    const Kallsyms& symbols();

  private:
    const Device& device_;
    std::future<djprobe_explain> module_;
    std::shared_future<Kallsyms> symbols_;
};

}  // namespace djprobe::loader
