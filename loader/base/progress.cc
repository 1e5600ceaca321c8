// SPDX-License-Identifier: GPL-2.0
#include "base/progress.h"

#include <fmt/core.h>
#include <sys/ioctl.h>

#include <cmath>
#include <utility>

#include "base/colour.h"
#include "base/write.h"

namespace djprobe::loader {
namespace {

constexpr std::chrono::milliseconds kEach{200};
constexpr const char* kWipe = "\r\x1b[K";

/// What is wider than the terminal goes on in its next line, which is not wiped.
std::string one_line(std::string text, int fd) {
    winsize size = {};
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && text.size() >= size.ws_col)
        text.resize(size.ws_col - 1u);
    return text;
}

}  // namespace

std::string progress_text(const std::string& what, std::size_t done, std::size_t total,
                          double seconds) {
    std::string text =
        fmt::format("{}: {} of {} ({}%)", what, done, total, total == 0 ? 100 : done * 100 / total);
    if (done == 0) return text;
    const double left = seconds * static_cast<double>(total - done) / static_cast<double>(done);
    return text + fmt::format(", about {:.0f} s left", std::ceil(left));
}

Progress::Progress(std::string what, std::size_t total, int fd, std::chrono::milliseconds patience)
    : what_(std::move(what)),
      total_(total),
      fd_(!silent_ && takes_sequences(fd) ? fd : -1),
      next_(start_ + patience) {}

Progress::~Progress() {
    if (shown_) write_some(fd_, kWipe);
}

void Progress::at(std::size_t done) {
    if (fd_ < 0) return;
    const Clock::time_point now = Clock::now();
    if (now < next_) return;
    next_ = now + kEach;
    shown_ = true;
    const double seconds = std::chrono::duration<double>(now - start_).count();
    write_some(fd_, kWipe + one_line(progress_text(what_, done, total_, seconds), fd_));
}

}  // namespace djprobe::loader
