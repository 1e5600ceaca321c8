// SPDX-License-Identifier: GPL-2.0
// The instructions of one action after the other.
#pragma once

#include "action.h"
#include "counter_operand.h"
#include "timer_writer.h"

namespace djprobe::x86 {

/// Registers that actions may change. No operand is in one of the scratch registers, which are rcx,
/// rdx, rbx, rsi, rdi, r8 to r11, r14, r15, or, without an extreme in the list, rax.
struct ActionRegisters {
    static constexpr size_t kMax = 3;
    u8 scratch[kMax] = {};
    /// Holds what ELAPSED has found. No other action of such a list takes more than two.
    u8 found() const { return scratch[kMax - 1]; }
    bool rax_is_operand = false;  ///< an extreme takes rax, and must give it back
};

/// What stays the same from action to action.
struct ActionPlace {
    i64 counter = 0;  ///< the probe's, by its offset from %gs
    TaskLayout task = {};
    u32 depth = 0;  ///< how far the stack pointer is below the site's
};

/// Writes actions, which change the status flags and the scratch registers; extremes rax, and
/// timers rax and rdx, too.
class ActionWriter {
  public:
    /// How many scratch registers an action takes.
    static size_t scratches(const Action& action, i64 counter, bool rax_is_operand);
    /// Whether it goes to a far counter whenever it is reached.
    static bool reaches_far(const Action& action, i64 counter);

    /// `timer` writes the list's timer, if there is one.
    ActionWriter(const ActionPlace& place, const ActionRegisters& registers, TimerWriter& timer,
                 const CounterBase& base, Emitter& out)
        : place_(place), registers_(registers), timer_(timer), base_(base), out_(out) {}

    void write(const Action& action, Label& end);

  private:
    /// A register, or memory that a register leads to.
    struct Source {
        u8 reg;
        bool is_memory;
        u32 displacement;
    };

    Source source(const Action& action);
    u8 load(const Action& action);
    void compare(const Action& action, Label& end);
    void add(const Action& action);
    void histogram(const Action& action);
    void extreme(const Action& action);
    u8 key_of(const Action& action, u8 saved_rax);
    void keep_greater(u8 key, const CounterOperand& greatest);
    CounterOperand counter_of(const Action& action);

    /// ModRM and what follows it.
    void operand(u8 reg, const Source& source);
    u8 load_half(const Source& from, u8 to);
    void extend(const Action& action, const Source& from, u8 to);
    u8 take() { return registers_.scratch[taken_++]; }

    const ActionPlace& place_;
    const ActionRegisters& registers_;
    size_t taken_ = 0;  ///< by the action that is being written
    TimerWriter& timer_;
    CounterBase base_;
    Emitter& out_;
};

}  // namespace djprobe::x86
