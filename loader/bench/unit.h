// SPDX-License-Identifier: GPL-2.0
// What the clock counts: time, or executed instructions as under QEMU's -icount.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace djprobe::loader {

/// A loop of known length, timed once.
struct LoopSample {
    unsigned loop;               ///< which one: they differ in how much work an instruction is
    std::uint64_t instructions;  ///< executed
    double ns;
};

struct Unit {
    bool instructions = false;      ///< else nanoseconds
    double ns_per_instruction = 1;  ///< what the clock counts for one, under -icount

    [[nodiscard]] const char* name() const { return instructions ? "instructions" : "ns"; }
    [[nodiscard]] double from_ns(double ns) const {
        return instructions ? ns / ns_per_instruction : ns;
    }
};

/// No CPU takes the same time for an addition as for a division: a clock for which all loops cost
/// the same per instruction, at every length, counts instructions. The fastest run of equal loops
/// counts, so interrupts do not matter; the clock's own cost cancels out between lengths.
Unit detect_unit(std::span<const LoopSample> samples);

/// Runs loops of additions, multiplications and divisions: about 5 ms.
std::vector<LoopSample> time_loops();

/// Nanoseconds by a clock that no time daemon slews.
double now_ns();

}  // namespace djprobe::loader
