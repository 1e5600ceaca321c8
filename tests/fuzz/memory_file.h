// SPDX-License-Identifier: GPL-2.0
// Bytes as a file with a path, for interfaces that take one.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

namespace djprobe::test {

class MemoryFile {
  public:
    MemoryFile() : file_(memfd_create("fuzz", MFD_CLOEXEC)) {}
    ~MemoryFile() { close(file_); }
    MemoryFile(const MemoryFile&) = delete;

    void fill(const std::uint8_t* data, std::size_t size) const {
        if (ftruncate(file_, 0) || pwrite(file_, data, size, 0) != static_cast<ssize_t>(size))
            std::abort();
    }
    [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

  private:
    int file_;
};

}  // namespace djprobe::test
