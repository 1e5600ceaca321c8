// SPDX-License-Identifier: GPL-2.0
#include "session/numbers_watch.h"

#include <utility>

namespace djprobe::loader {
namespace {

// Of tens of thousands of sites a snapshot takes long: it must not keep the loop from the events.
constexpr int kIdleTimes = 20;

}  // namespace

NumbersWatch::NumbersWatch(Numbers take, std::function<Summary()> snapshot)
    : take_(std::move(take)), snapshot_(std::move(snapshot)) {
    if (!take_) return;
    ticker_ = Ticker(1);
    look();
}

void NumbersWatch::look() {
    const Clock::time_point begin = Clock::now();
    if (begin < next_) return;
    take_(snapshot_());
    const Clock::time_point end = Clock::now();
    next_ = end + kIdleTimes * (end - begin);
}

Watched NumbersWatch::watched() {
    return {ticker_.fd(), [this] {
                if (ticker_.take()) look();
            }};
}

}  // namespace djprobe::loader
