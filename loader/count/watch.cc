// SPDX-License-Identifier: GPL-2.0
#include "count/watch.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/manager.h"
#include "session/command.h"

namespace djprobe::loader {
namespace {

using Clock = std::chrono::steady_clock;

// Home, and nothing below: the table is drawn over the last one.
constexpr const char* kRedraw = "\x1b[H\x1b[J";

// Such a terminal would show the letters of kRedraw.
bool has_cursor() {
    const char* const terminal = std::getenv("TERM");
    return terminal && *terminal && std::string_view(terminal) != "dumb";
}

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

Watch::Watch(const WatchOptions& options, Output& output)
    : options_(options),
      output_(output),
      redraws_(!options.json && isatty(output.fd()) != 0 && has_cursor()),
      interval_(options.interval.value_or(redraws_ ? 1 : 0)) {}

void Watch::tell(Numbers take, std::function<Summary()> snapshot) {
    take_ = std::move(take);
    snapshot_ = std::move(snapshot);
}

void Watch::print(const std::string& table) {
    output_.print((redraws_ ? kRedraw : "") + table);
}

int Watch::wait() const {
    if (interval_ <= 0) return -1;
    const double left = interval_ - seconds_since(last_);
    return static_cast<int>(std::ceil(std::clamp(left, 0.0, 1e6) * 1e3));
}

void Watch::show_if_due(bool wished, const std::function<void(double)>& show) {
    const double seconds = seconds_since(last_);
    if (!wished && (interval_ <= 0 || seconds < interval_)) return;
    last_ = Clock::now();
    show(seconds);
}

bool Watch::until_end(const StopSignals& stop, SnapshotSignal& wish, int command,
                      const std::function<void(double)>& show) {
    Life life;
    NumbersWatch numbers(take_, snapshot_);
    const Watched told = numbers.watched();
    pollfd polled[] = {{stop.fd(), POLLIN, 0}, {command, POLLIN, 0},   {output_.fd(), 0, 0},
                       {wish.fd(), POLLIN, 0}, {life.fd(), POLLIN, 0}, {told.fd, POLLIN, 0}};
    while (!stop.requested() && !output_.closed()) {
        if (poll(polled, std::size(polled), wait()) < 0) continue;
        if ((polled[2].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) output_.set_closed();
        if ((polled[1].revents & POLLIN) != 0) return true;
        life.show();
        told.act();
        if (!stop.requested()) show_if_due(wish.take(), show);
    }
    return false;
}

std::optional<int> Watch::run(StopSignals& stop, SnapshotSignal& wish, std::optional<Child>& child,
                              const std::function<void(double)>& show) {
    if (options_.command) child.emplace(start_command(*options_.command));
    if (options_.seconds) stop.request_after(*options_.seconds);
    last_ = Clock::now();
    const bool ended = until_end(stop, wish, child ? child->fd() : -1, show);
    if (!child) return std::nullopt;
    return ended ? child->wait() : child->end();
}

}  // namespace djprobe::loader
