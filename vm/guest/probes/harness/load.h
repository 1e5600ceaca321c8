// SPDX-License-Identifier: GPL-2.0
// Calls into the kernel whose number and results are known.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace djprobe::vm {

/// No other task in the guest calls getpgid: what this function alone reaches has exact counts.
inline constexpr const char* kGetpgid = "__x64_sys_getpgid";

/// `threads` x `count` calls of getpgid(0). The number of wrong results.
uint64_t call_getpgid(uint64_t count, unsigned threads = 1);

/// Reads the same 64 bytes of /proc/version again and again.
class Reader {
  public:
    Reader();
    ~Reader() { close(fd_); }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    /// `count` calls of pread. The number of results that differ from the first one.
    uint64_t read(uint64_t count);
    const char* buffer() const { return buffer_; }
    static constexpr size_t kSize = 64;

  private:
    bool once();

    int fd_;
    char buffer_[kSize] = {};
    std::string first_;
};

/// Threads that call getpgid and read until stop().
class Load {
  public:
    explicit Load(unsigned threads);
    ~Load() { stop(); }
    void stop();
    uint64_t calls() const { return calls_; }  ///< of getpgid, once stopped
    uint64_t wrong() const { return wrong_; }

  private:
    std::atomic<bool> stop_{false};
    std::atomic<uint64_t> calls_{0}, wrong_{0};
    std::vector<std::thread> threads_;
};

/// Address of a symbol, as /proc/kallsyms has it; 0: none. `module` "" is the kernel.
uint64_t address_of(const std::string& symbol, const std::string& module = "");

/// The symbol that an address lies in, without the offset.
std::string symbol_at(uint64_t address);

}  // namespace djprobe::vm
