// SPDX-License-Identifier: GPL-2.0
// System calls that enter a known kernel function exactly once, timed in blocks.
#pragma once

#include <sched.h>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace djprobe::loader {

struct Workload {
    const char* name;
    const char* function;  ///< entered once by each call; others of the same path are, too
    void (*call)();
};

/// The first one is the default: its function can be probed by every mechanism, has a raw
/// tracepoint of its own, and kernels optimize kprobes at its entry and in its middle.
std::span<const Workload> workloads();

/// Keeps the calling thread on the CPU where it is, for as long as it lives.
class Pin {
  public:
    Pin();
    ~Pin();
    Pin(const Pin&) = delete;
    Pin& operator=(const Pin&) = delete;

    [[nodiscard]] int cpu() const noexcept { return cpu_; }

  private:
    cpu_set_t before_;
    int cpu_;
};

struct BlockPlan {
    unsigned blocks;
    std::uint64_t calls;  ///< per block

    [[nodiscard]] std::uint64_t total() const { return blocks * calls; }
};

/// Nanoseconds per call of each block. `between` runs after each block, outside of the time.
std::vector<double> time_blocks(const Workload& workload, BlockPlan plan,
                                const std::function<void()>& between);

}  // namespace djprobe::loader
