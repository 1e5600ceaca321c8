// SPDX-License-Identifier: GPL-2.0
// The running kernel's memory, through /proc/kcore.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/unique_fd.h"

namespace djprobe::loader {

class Kcore {
  public:
    /// Throws Error: kNoPermission (not root, lockdown), or kFailure where the kernel has none.
    Kcore();

    /// What is there now. Throws Error(kFailure) when the range is not all there.
    [[nodiscard]] std::vector<std::uint8_t> read(std::uint64_t address, std::size_t size) const;

  private:
    struct Segment {
        std::uint64_t address;
        std::uint64_t size;
        std::uint64_t offset;
    };

    UniqueFd fd_;
    std::vector<Segment> segments_;
};

}  // namespace djprobe::loader
