// SPDX-License-Identifier: GPL-2.0
// Runs code original, relocated and detoured from the same start, and compares where it ends.
#pragma once

#include <gtest/gtest.h>

#include <random>

#include "arch/x86/detour/detour.h"
#include "support/arena.h"
#include "support/machine.h"

namespace djprobe::test {

/// All that a run may change.
struct Outcome {
    Machine machine;
    Bytes data;
    Bytes stack;  ///< from the final stack pointer up: below it nothing is defined

    bool operator==(const Outcome&) const = default;
};

testing::AssertionResult same(const Outcome& actual, const Outcome& expected);

/// An arena with a callee, an exit and known data. The callee stores its return address at
/// kReturnAddress, adds 7 to rax and returns; its own address is stored at kCalleePointer. Every
/// word of the stack is the exit's address, so that a `ret` ends the run.
class Bench {
  public:
    static constexpr size_t kReturnAddress = 0xf00;
    static constexpr size_t kCalleePointer = 0xf10;
    /// Code at kReached in the arena sets the word at kReachedMark of the data to 1 and exits.
    static constexpr size_t kReached = Arena::kExit + 0x40;
    static constexpr size_t kReachedMark = 0xf20;

    explicit Bench(Arena::Place place, u64 seed = 1);

    Arena& arena() { return arena_; }
    u64 text() const { return arena_.text(); }
    u64 exit() const { return text() + Arena::kExit; }
    /// What emit_detour() needs to call the handler of support/handler.h from the arena.
    x86::DetourConfig detour_config() const;

    /// A random machine whose stack pointer lies in the middle of the stack and whose rbx points to
    /// data.
    Machine start() { return fix(Machine::random(random_)); }
    /// Run from `entry` with data and stack as they were at first.
    Outcome run(Machine machine, u64 entry);
    /// Put code to the start of the arena; int3 behind it.
    void put(const Bytes& code);
    /// Relocate the first instruction of `code` into the slot; the copy continues behind it.
    Refusal put_relocated(const Bytes& code);
    /// The machine that `code` leaves when it runs as it is; expects that its relocated first
    /// instruction leaves the same, and the same memory.
    Machine expect_relocated_same(const Bytes& code, const Machine& machine);
    /// 8 bytes of an outcome's data.
    static u64 word(const Outcome& outcome, size_t offset);

  private:
    Machine fix(Machine machine) const;

    Arena arena_;
    std::mt19937_64 random_;
    Bytes initial_;  ///< data and stack
};

}  // namespace djprobe::test
