// SPDX-License-Identifier: GPL-2.0
// stdout for events: formatted in place into one reused buffer, written in large pieces.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string_view>

#include "base/stop_signals.h"

namespace djprobe::loader {

/// Grows until the longest batch fits and is then never reallocated.
using Buffer = fmt::basic_memory_buffer<char, 4096>;

class Output {
  public:
    /// With `stop`: once a stop is requested, a reader that takes nothing does not block the
    /// loader.
    explicit Output(int fd, const StopSignals* stop = nullptr) noexcept : fd_(fd), stop_(stop) {}

    /// Where events are appended.
    Buffer& buffer() noexcept { return buffer_; }
    /// Writes when enough has gathered; to be called after each event.
    void flush_if_full() {
        if (buffer_.size() >= kFlushAt) flush();
    }
    /// Writes all. After the reader has gone (EPIPE), or has taken nothing for a second since a
    /// stop was requested, everything is discarded. Throws Error when the write fails otherwise
    /// (disk full).
    void flush();
    /// The text, at once: for what is no event.
    void print(std::string_view text) {
        buffer_.append(text);
        flush();
    }
    /// True once the reader of stdout has gone.
    [[nodiscard]] bool closed() const noexcept { return closed_; }
    void set_closed() noexcept { closed_ = true; }
    [[nodiscard]] int fd() const noexcept { return fd_; }

  private:
    static constexpr std::size_t kFlushAt = std::size_t{64} * 1024;

    [[nodiscard]] bool has_stalled();

    int fd_;
    const StopSignals* stop_;
    int interruptions_ = 0;  ///< since it took something
    bool closed_ = false;
    Buffer buffer_;
};

}  // namespace djprobe::loader
