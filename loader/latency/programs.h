// SPDX-License-Identifier: GPL-2.0
// What measures for `probeload latency`: two programs, which are part of probeload, or two lists of
// actions; and their maps.
#pragma once

#include <linux/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "latency/results.h"
#include "object/program.h"
#include "session/attachment.h"

struct latency;

namespace djprobe::loader {

class LatencyPrograms {
  public:
    /// Loaded, with room for a time of each task. Throws Error: kRejected, kNoPermission, kFailure.
    static LatencyPrograms load(LatencyBy by);
    /// The same, but without programs at the two places: actions take their part. `tsc_rate`: see
    /// there. Not by kComm.
    static LatencyPrograms load_for_actions(LatencyBy by, std::uint64_t tsc_rate);

    /// What measures is actions.
    [[nodiscard]] bool are_actions() const { return !begin_actions_.empty(); }
    /// Then these are what is to be attached. They point into this object.
    [[nodiscard]] Counters begin_counters() const;
    [[nodiscard]] Counters end_counters() const;
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
    void open(LatencyBy by);
    void load_object();
    void set_time(std::uint32_t key, std::uint64_t value) const;
    void leave_out_own();
    [[nodiscard]] Counters counters(const std::vector<djprobe_action>& actions) const;
    [[nodiscard]] LatencyResults read_counted() const;

    std::unique_ptr<latency, Close> object_;
    LatencyBy by_ = LatencyBy::kNothing;
    std::vector<djprobe_action> begin_actions_, end_actions_;
};

}  // namespace djprobe::loader
