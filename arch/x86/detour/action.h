// SPDX-License-Identifier: GPL-2.0
// What a probe that counts does on a hit, one action at a time.
#pragma once

#include "../../../uapi/djprobe_action.h"
#include "../insn/effects.h"
#include "emit.h"

namespace djprobe::x86 {

using Action = djprobe_action;

/// The index of the first action that is none as uapi/djprobe_action.h defines them, or the list's
/// size. Whether the counters exist is another question.
size_t find_wrong_action(Span<const Action> actions);

/// The registers that the operands are in.
RegisterSet operands_of(Span<const Action> actions);

/// Writes one action after the other, each with the counters from `counter` on, a per-CPU address
/// by its offset from %gs. Changes the status flags and the scratch registers, which no operand may
/// be in, and which are rax to rdx, rsi, rdi, or r8 to r11, r14, r15.
class ActionWriter {
  public:
    static constexpr size_t kMaxScratch = 2;
    /// How many scratch registers an action takes.
    static size_t scratches(const Action& action, i64 counter);

    /// @param depth how far the stack pointer is below the site's
    ActionWriter(i64 counter, const u8 (&scratch)[kMaxScratch], u32 depth, Emitter& out)
        : counter_(counter), scratch_{scratch[0], scratch[1]}, depth_(depth), out_(out) {}

    void write(const Action& action, Label& end);

  private:
    u8 load(const Action& action);
    void compare(const Action& action, Label& end);
    void add(const Action& action);
    void histogram(const Action& action);
    u8 take() { return scratch_[taken_++]; }

    i64 counter_;
    u8 scratch_[kMaxScratch];
    size_t taken_ = 0;  ///< by the action that is being written
    u32 depth_;
    Emitter& out_;
};

}  // namespace djprobe::x86
