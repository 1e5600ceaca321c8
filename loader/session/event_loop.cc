// SPDX-License-Identifier: GPL-2.0
#include "session/event_loop.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/error.h"

namespace djprobe::loader {
namespace {

using Clock = std::chrono::steady_clock;

// A wakeup for each event would cost both sides more than the event: those that come sooner after
// the last read than this are read together.
constexpr std::chrono::milliseconds kGather{1};

// A year; more would overflow the clock.
constexpr double kLongest = 366.0 * 24 * 3600;

class Deadline {
  public:
    explicit Deadline(std::optional<double> seconds) {
        if (!seconds) return;
        const std::chrono::duration<double> duration(std::min(*seconds, kLongest));
        at_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(duration);
    }

    [[nodiscard]] bool reached() const { return at_ && Clock::now() >= *at_; }

    // For poll(): rounded up, so that it does not return just before the deadline.
    [[nodiscard]] int milliseconds() const {
        if (!at_) return -1;
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(*at_ - Clock::now());
        return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1'000'000));
    }

  private:
    std::optional<Clock::time_point> at_;
};

}  // namespace

EndCause run_event_loop(EventReader& events, Output& output, const StopSignals& stop,
                        std::optional<double> seconds, int command_fd) {
    const Deadline deadline(seconds);
    std::vector<pollfd> polled = {
        {stop.fd(), POLLIN, 0}, {command_fd, POLLIN, 0}, {output.fd(), 0, 0}};
    const std::size_t always = polled.size();
    for (const int fd : events.fds())
        polled.push_back({fd, POLLIN, 0});

    std::optional<Clock::time_point> last_read;
    for (;;) {
        events.read();
        const bool gather = events.has_room() && last_read && Clock::now() - *last_read < kGather;
        last_read = Clock::now();
        if (output.closed()) return EndCause::kOutputClosed;
        if (stop.requested()) return EndCause::kSignal;
        if (deadline.reached()) return EndCause::kDuration;
        // Without the ring buffers' fds the first event does not end the wait.
        const auto watched = gather ? always : polled.size();
        const int left = deadline.milliseconds();
        const int limit = gather && left != 0 ? static_cast<int>(kGather.count()) : left;
        if (poll(polled.data(), watched, limit) < 0) {
            if (errno != EINTR) fail(ExitCode::kFailure, "poll: {}", std::strerror(errno));
            continue;
        }
        // A pipe or socket without a reader says so although there is nothing to write.
        if ((polled[2].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) output.set_closed();
        if ((polled[1].revents & POLLIN) != 0) return EndCause::kCommand;
    }
}

}  // namespace djprobe::loader
