// SPDX-License-Identifier: GPL-2.0
// A program under direct call, its per-CPU data, and what it saw.
#pragma once

#include "arch/x86/detour/patch.h"
#include "support/bench.h"

namespace djprobe::test {

/// What the guard counts; %gs points here. The kernel's layout may be another.
struct PerCpu {
    u64 nothing = 0;  ///< at offset 0, which means "there is none"
    u32 active = 0;
    u32 preempt_count = 0x80000000;  ///< no reschedule is due
    u64 hits = 0;
    u64 wide_preempt_count = 0x8000000000000000;

    bool operator==(const PerCpu&) const = default;
};

/// What the guard adds to `active`.
inline constexpr i8 kMark = -128;

/// A call of the program, of the slow path, or of the scheduler.
struct Seen {
    u32 count = 0;  ///< calls since reset; the rest is of the last one
    u64 context = 0;
    u64 argument = 0;
    x86::Frame frame = {};  ///< at `context`, if there is any
    u64 flags = 0;
    PerCpu per_cpu = {};
    u64 record_address = 0;  ///< rbp, and what it points to
    u64 saved_bp = 0;
    u64 return_address = 0;
};

/// Expects that a detour has kept the registers that are live, and those that a C function keeps.
/// Returns how many of the others it has changed.
size_t expect_kept(const Machine& start, const Machine& end, x86::RegisterSet live);

/// Register values of a machine as fields; what a frame of a site must hold.
x86::Frame frame_of(const Machine& machine, u64 site);

/// Where the frames differ, in `fields`.
x86::FieldSet differences(const x86::Frame& a, const x86::Frame& b, x86::FieldSet fields);

/// %gs points to the per-CPU data as long as it lives.
class PerCpuBase {
  public:
    PerCpuBase();
    ~PerCpuBase();
    PerCpuBase(const PerCpuBase&) = delete;
    PerCpuBase& operator=(const PerCpuBase&) = delete;

  private:
    u64 old_gs_ = 0;
};
/// Where the per-CPU data lie.
void use_per_cpu(x86::DirectConfig& config);
/// With the other count.
void use_wide_count(x86::DirectConfig& config);

/// Programs in the arena of a bench, which change exactly what they say, and the C functions of the
/// guard, which change all that they may.
class DirectBench {
  public:
    explicit DirectBench(Bench& bench);

    /// Calls a program that changes `clobbers` and the flags.
    x86::DirectConfig config(x86::RegisterSet clobbers, x86::FieldSet context);
    /// Where the counter of hits lies too far from %gs for a displacement.
    void move_hits_away(x86::DirectConfig& config);

    /// Whether statistics are on.
    void set_stats(bool on);

    static Seen& program();
    static Seen& slow();
    static Seen& resched();
    static PerCpu& per_cpu();
    static u64& far_hits();
    /// Nothing seen, nothing counted.
    static void reset();

  private:
    void put_program(x86::RegisterSet clobbers);

    Bench& bench_;
    PerCpuBase per_cpu_base_;
};

}  // namespace djprobe::test
