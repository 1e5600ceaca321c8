// SPDX-License-Identifier: GPL-2.0
#include "base/ticker.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/error.h"

namespace djprobe::loader {

Ticker::Ticker(double seconds) : fd_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
    timespec each = {};
    each.tv_sec = static_cast<time_t>(seconds);
    each.tv_nsec = static_cast<long>((seconds - std::floor(seconds)) * 1e9);
    // A time of 0 would stop it.
    if (each.tv_sec == 0 && each.tv_nsec == 0) each.tv_nsec = 1;
    const itimerspec always = {each, each};
    if (!fd_ || timerfd_settime(fd_.get(), 0, &always, nullptr) != 0)
        fail(ExitCode::kFailure, "a timer of {:g} s: {}", seconds, std::strerror(errno));
}

bool Ticker::take() noexcept {
    std::uint64_t ticks = 0;
    return fd_ && read(fd_.get(), &ticks, sizeof ticks) > 0;
}

void Ticker::stop() noexcept {
    const itimerspec never = {};
    if (fd_) timerfd_settime(fd_.get(), 0, &never, nullptr);
}

}  // namespace djprobe::loader
