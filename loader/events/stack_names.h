// SPDX-License-Identifier: GPL-2.0
// Names for the frames of stacks, the kernel's and those of processes.
#pragma once

#include "decode/frame.h"
#include "events/user_code.h"
#include "kernel/symbolizer.h"

namespace djprobe::loader {

class StackNames : public FrameNames {
  public:
    /// `process`: whose user frames are where a value does not say; 0: not known.
    explicit StackNames(Symbolizer& symbolizer, std::uint32_t process = 0)
        : symbolizer_(symbolizer), process_(process) {}

    /// "ext4:ext4_readdir+0x10", as describe() of user_code.h, or an address.
    std::string full(const Frame& frame, std::uint32_t process) override;
    std::string function(const Frame& frame, std::uint32_t process) override;

  private:
    CodePlace place_of(const Frame& frame, std::uint32_t process);

    Symbolizer& symbolizer_;
    std::uint32_t process_;
    UserCode code_;
};

/// The upper half of the addresses is the kernel's.
bool is_kernel(const Frame& frame);

}  // namespace djprobe::loader
