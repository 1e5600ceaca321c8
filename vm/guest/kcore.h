// SPDX-License-Identifier: GPL-2.0
// The kernel's memory through /proc/kcore.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace djprobe::vm {

class Kcore {
  public:
    /// Throws std::system_error (not root, kernel locked down, ...).
    Kcore();
    ~Kcore();
    Kcore(const Kcore&) = delete;
    Kcore& operator=(const Kcore&) = delete;

    /// Throws std::runtime_error when the range is in no segment.
    std::vector<uint8_t> read(uint64_t address, size_t size) const;

  private:
    int fd_;
    std::vector<Elf64_Phdr> segments_;
};

}  // namespace djprobe::vm
