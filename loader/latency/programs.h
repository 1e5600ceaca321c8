// SPDX-License-Identifier: GPL-2.0
// The two programs of `probeload latency`, which are part of probeload, and their maps.
#pragma once

#include <memory>
#include <string>

#include "latency/results.h"
#include "object/program.h"

struct latency;

namespace djprobe::loader {

class LatencyPrograms {
  public:
    /// Loaded, with room for a time of each task. Throws Error: kRejected, kNoPermission, kFailure.
    static LatencyPrograms load(LatencyBy by);

    /// What is to be attached at the first place, and at the second.
    [[nodiscard]] Program begin() const;
    [[nodiscard]] Program end() const;
    /// From now on hits count, or no more. Before the first call none does.
    void count(bool on);
    /// What has been seen so far. Throws Error.
    [[nodiscard]] LatencyResults read() const;

  private:
    struct Close {
        void operator()(latency* object) const;
    };

    LatencyPrograms() = default;
    void leave_out_own();

    std::unique_ptr<latency, Close> object_;
    LatencyBy by_ = LatencyBy::kNothing;
};

}  // namespace djprobe::loader
