// SPDX-License-Identifier: GPL-2.0
#include "session/event_loop.h"

#include <poll.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <vector>

#include "base/error.h"

namespace djprobe::loader {
namespace {

using Clock = std::chrono::steady_clock;

// A wakeup for each event would cost both sides more than the event: those that come sooner after
// the last read than this are read together.
constexpr std::chrono::milliseconds kGather{1};

// Programs may send without a wakeup.
constexpr int kLookMs = 100;

}  // namespace

EndCause run_event_loop(EventReader& events, Output& output, const StopSignals& stop,
                        int command_fd, const std::vector<Watched>& others) {
    std::vector<pollfd> polled = {
        {stop.fd(), POLLIN, 0}, {command_fd, POLLIN, 0}, {output.fd(), 0, 0}};
    const std::size_t first_other = polled.size();
    for (const Watched& other : others)
        polled.push_back({other.fd, POLLIN, 0});
    const std::size_t always = polled.size();
    for (const int fd : events.fds())
        polled.push_back({fd, POLLIN, 0});

    std::optional<Clock::time_point> last_read;
    for (;;) {
        events.read();
        const bool gather = events.has_room() && last_read && Clock::now() - *last_read < kGather;
        last_read = Clock::now();
        if (output.closed()) return EndCause::kOutputClosed;
        if (stop.requested() || events.at_limit()) return EndCause::kStop;
        // Without the ring buffers' fds the first event does not end the wait.
        const auto watched = gather ? always : polled.size();
        const int idle = events.has_ring_buffer() ? kLookMs : -1;
        const int limit = gather ? static_cast<int>(kGather.count()) : idle;
        if (poll(polled.data(), watched, limit) < 0) {
            if (errno != EINTR) fail(ExitCode::kFailure, "poll: {}", std::strerror(errno));
            continue;
        }
        // A pipe or socket without a reader says so although there is nothing to write.
        if ((polled[2].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) output.set_closed();
        for (std::size_t i = 0; i < others.size(); ++i)
            if ((polled[first_other + i].revents & POLLIN) != 0) others[i].act();
        if ((polled[1].revents & POLLIN) != 0) return EndCause::kCommand;
    }
}

}  // namespace djprobe::loader
