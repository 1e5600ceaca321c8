// SPDX-License-Identifier: GPL-2.0
#include "action.h"

namespace djprobe::x86 {
namespace {

/// How many bytes of it an operand may have at most; 0: there is no such register or field.
u32 size_of_source(const Action& action) {
    if (is_of_task(action)) return djprobe_task_field_size(action.reg);
    if (is_elapsed(action)) return action.reg == 0 && action.width == 8 ? sizeof(u64) : 0;
    return action.reg < DJPROBE_REGS ? sizeof(u64) : 0;
}

bool is_operand(const Action& action) {
    constexpr u8 kFlags =
        DJPROBE_ACTION_SIGNED | DJPROBE_ACTION_TASK | DJPROBE_ACTION_MEMORY | DJPROBE_ACTION_TOOK;
    if (is_elapsed(action) && action.flags != DJPROBE_ACTION_TOOK) return false;
    if (is_of_task(action) && is_in_memory(action)) return false;
    const bool width =
        action.width == 1 || action.width == 2 || action.width == 4 || action.width == 8;
    return width && (action.flags & ~kFlags) == 0 && action.width <= size_of_source(action);
}

bool is_action(const Action& action) {
    if (action.operation < DJPROBE_ACTION_COUNT || action.operation > DJPROBE_ACTION_ELAPSED)
        return false;
    if (!has_operand(action)) {
        const bool has_value = action.operation == DJPROBE_ACTION_ELAPSED;
        return !action.reg && !action.width && !action.flags && has_value == (action.value != 0);
    }
    const auto displaced = static_cast<u64>(i64{displacement_of(action)});
    const u64 displacement = is_in_memory(action) ? displaced : 0;
    const bool fits = compares(action) ? action.offset == static_cast<u32>(displacement)
                                       : action.value == displacement;
    return fits && is_operand(action);
}

/// Scratch registers are none of the operands'.
bool has_too_many_registers(Span<const Action> actions) {
    return count_of(operands_of(actions)) > DJPROBE_OPERANDS_MAX;
}

/// What only a list can be wrong with, as far as its last action.
class ListCheck {
  public:
    bool allows(Span<const Action> actions) {
        const Action& last = actions[actions.size() - 1];
        extremes_ += is_extreme(last);
        timers_ += is_timer(last);
        const bool is_found = !is_elapsed(last) || has_found_;
        has_found_ |= last.operation == DJPROBE_ACTION_ELAPSED;
        // A timer takes registers that others' operands might be in.
        const bool is_crowded =
            timers_ ? operands_of(actions) != 0 : has_too_many_registers(actions);
        return extremes_ <= DJPROBE_EXTREMES_MAX && timers_ <= DJPROBE_TIMERS_MAX && is_found &&
               !is_crowded;
    }

  private:
    size_t extremes_ = 0, timers_ = 0;
    bool has_found_ = false;
};

}  // namespace

size_t find_wrong_action(Span<const Action> actions) {
    ListCheck check;
    size_t i = 0;
    while (i < actions.size() && is_action(actions[i]) && check.allows(actions.first(i + 1)))
        ++i;
    return i;
}

RegisterSet operands_of(Span<const Action> actions) {
    RegisterSet operands = 0;
    for (const Action& action : actions)
        if (has_operand(action) && !is_of_task(action) && !is_elapsed(action))
            operands |= register_bit(action.reg);
    return operands;
}

}  // namespace djprobe::x86
