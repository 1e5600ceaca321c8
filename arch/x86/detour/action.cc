// SPDX-License-Identifier: GPL-2.0
#include "action.h"

namespace djprobe::x86 {
namespace {

/// How many bytes of it an operand may have at most; 0: there is no such register or field.
u32 size_of_source(const Action& action) {
    if (is_of_task(action)) return djprobe_task_field_size(action.reg);
    return action.reg < DJPROBE_REGS ? sizeof(u64) : 0;
}

bool is_operand(const Action& action) {
    constexpr u8 kFlags = DJPROBE_ACTION_SIGNED | DJPROBE_ACTION_TASK | DJPROBE_ACTION_MEMORY;
    if (is_of_task(action) && is_in_memory(action)) return false;
    const bool width =
        action.width == 1 || action.width == 2 || action.width == 4 || action.width == 8;
    return width && (action.flags & ~kFlags) == 0 && action.width <= size_of_source(action);
}

bool is_action(const Action& action) {
    if (action.operation < DJPROBE_ACTION_COUNT || action.operation > DJPROBE_ACTION_MIN)
        return false;
    if (!has_operand(action)) return !action.reg && !action.width && !action.flags && !action.value;
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

}  // namespace

size_t find_wrong_action(Span<const Action> actions) {
    size_t i = 0, extremes = 0;
    for (; i < actions.size() && is_action(actions[i]); ++i) {
        if (is_extreme(actions[i]) && ++extremes > DJPROBE_EXTREMES_MAX) break;
        if (has_too_many_registers(actions.first(i + 1))) break;
    }
    return i;
}

RegisterSet operands_of(Span<const Action> actions) {
    RegisterSet operands = 0;
    for (const Action& action : actions)
        if (has_operand(action) && !is_of_task(action)) operands |= register_bit(action.reg);
    return operands;
}

}  // namespace djprobe::x86
