// SPDX-License-Identifier: GPL-2.0
// What a probe that counts does on a hit: which lists of actions there are.
#pragma once

#include "../../../uapi/djprobe_action.h"
#include "../insn/effects.h"

namespace djprobe::x86 {

using Action = djprobe_action;

inline bool is_signed(const Action& action) {
    return (action.flags & DJPROBE_ACTION_SIGNED) != 0;
}
/// Whether the operand is a field of the task that runs.
inline bool is_of_task(const Action& action) {
    return (action.flags & DJPROBE_ACTION_TASK) != 0;
}
/// Whether it is where a register points to.
inline bool is_in_memory(const Action& action) {
    return (action.flags & DJPROBE_ACTION_MEMORY) != 0;
}
/// Whether it is what the list's ELAPSED has found.
inline bool is_elapsed(const Action& action) {
    return (action.flags & DJPROBE_ACTION_TOOK) != 0;
}
/// IF_*.
inline bool compares(const Action& action) {
    return action.operation >= DJPROBE_ACTION_IF_EQ && action.operation <= DJPROBE_ACTION_IF_GE;
}
/// MAX or MIN.
inline bool is_extreme(const Action& action) {
    return action.operation == DJPROBE_ACTION_MAX || action.operation == DJPROBE_ACTION_MIN;
}
/// TIME or ELAPSED.
inline bool is_timer(const Action& action) {
    return action.operation == DJPROBE_ACTION_TIME || action.operation == DJPROBE_ACTION_ELAPSED;
}
inline bool has_operand(const Action& action) {
    return action.operation != DJPROBE_ACTION_COUNT && !is_timer(action);
}

/// Where in memory, seen from the register.
inline i32 displacement_of(const Action& action) {
    return static_cast<i32>(compares(action) ? action.offset : action.value);
}

/// The index of the first action that is none as uapi/djprobe_action.h defines them, or one too
/// many of its kind, or the list's size. Whether the counters exist is another question.
size_t find_wrong_action(Span<const Action> actions);

/// The registers that the operands are in.
RegisterSet operands_of(Span<const Action> actions);

}  // namespace djprobe::x86
