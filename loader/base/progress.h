// SPDX-License-Identifier: GPL-2.0
// How far a long piece of work is, for a person at a terminal.
#pragma once

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>

namespace djprobe::loader {

/// "surveying: 1200 of 46000 (3%), about 12 s left"; the estimate takes the rest to be as fast.
std::string progress_text(const std::string& what, std::size_t done, std::size_t total,
                          double seconds);

/// Where progress is shown beside lines for this descriptor: not in between them.
inline int progress_fd(int lines_fd) {
    return isatty(lines_fd) != 0 ? -1 : STDERR_FILENO;
}

/// A line that is rewritten some times a second, from a second after the start on, and wiped at the
/// end. Nothing at all where the descriptor is no terminal that can wipe a line.
class Progress {
  public:
    Progress(std::string what, std::size_t total, int fd = STDERR_FILENO,
             std::chrono::milliseconds patience = std::chrono::seconds(1));
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    /// So many are done; cheap enough for each of them.
    void at(std::size_t done);

    /// Nothing at all from now on: the terminal is another program's.
    static void silence() { silent_ = true; }

  private:
    using Clock = std::chrono::steady_clock;

    inline static std::atomic<bool> silent_ = false;

    std::string what_;
    std::size_t total_;
    int fd_;  ///< -1: no terminal
    Clock::time_point start_ = Clock::now();
    Clock::time_point next_;
    bool shown_ = false;
};

}  // namespace djprobe::loader
