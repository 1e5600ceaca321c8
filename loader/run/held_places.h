// SPDX-License-Identifier: GPL-2.0
// Places that djprobe must leave to the kernel, while a call that asks for one of them goes on.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <utility>

#include "base/unique_fd.h"

namespace djprobe::loader {

class HeldPlaces {
  public:
    using Clock = std::chrono::steady_clock;
    /// Nothing tells when a call that goes on is over. No call takes longer.
    static constexpr std::chrono::seconds kLongest{2};

    /// Keeps the kernel's probe at the place until the thread makes another call, or the time is
    /// over.
    void hold(pid_t thread, UniqueFd event, Clock::time_point now = Clock::now()) {
        held_.insert_or_assign(thread, Held{std::move(event), now});
    }
    void let_go(pid_t thread) { held_.erase(thread); }
    /// Lets go of those that were held long enough. Whether there are others.
    bool look(Clock::time_point now = Clock::now()) {
        std::erase_if(held_, [&](const auto& one) { return now - one.second.since >= kLongest; });
        return !held_.empty();
    }

  private:
    struct Held {
        UniqueFd event;
        Clock::time_point since;
    };
    std::map<pid_t, Held> held_;
};

}  // namespace djprobe::loader
