// SPDX-License-Identifier: GPL-2.0
#include "support/action_meaning.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <sstream>

namespace djprobe::test {
namespace {

using x86::Action;

template <class Value>
bool holds(unsigned int operation, Value left, Value right) {
    switch (operation) {
        case DJPROBE_ACTION_IF_EQ:
            return left == right;
        case DJPROBE_ACTION_IF_NE:
            return left != right;
        case DJPROBE_ACTION_IF_LT:
            return left < right;
        case DJPROBE_ACTION_IF_LE:
            return left <= right;
        case DJPROBE_ACTION_IF_GT:
            return left > right;
        default:
            return left >= right;
    }
}

bool holds(const Action& action, u64 left) {
    if (!(action.flags & DJPROBE_ACTION_SIGNED))
        return holds<u64>(action.operation, left, action.value);
    return holds<i64>(action.operation, static_cast<i64>(left), static_cast<i64>(action.value));
}

u64 some_value(std::mt19937_64& random) {
    const u64 value = random() >> random() % 64;
    return random() % 3 ? value : 0 - value;
}

/// What a counter of MAX or MIN holds for an operand.
u64 extreme(const Action& action, u64 value) {
    if (action.flags & DJPROBE_ACTION_SIGNED) value += u64{1} << 63;
    return action.operation == DJPROBE_ACTION_MAX ? value : ~value;
}

bool is_of_task(const Action& action) {
    return (action.flags & DJPROBE_ACTION_TASK) != 0;
}

/// The counters that it may change lie in a row.
size_t slots_of(u8 operation) {
    if (operation == DJPROBE_ACTION_LOG2) return DJPROBE_LOG2_SLOTS;
    return operation == DJPROBE_ACTION_MAX || operation == DJPROBE_ACTION_MIN ? 2 : 1;
}

bool is_comparison(u8 operation) {
    return operation >= DJPROBE_ACTION_IF_EQ && operation <= DJPROBE_ACTION_IF_GE;
}

/// The registers of one list, of which it may have only so many.
using Registers = std::array<u8, DJPROBE_OPERANDS_MAX>;

Registers choose_registers(std::mt19937_64& random) {
    std::array<u8, DJPROBE_REGS> all;
    std::iota(all.begin(), all.end(), u8{0});
    std::shuffle(all.begin(), all.end(), random);
    Registers some;
    std::copy_n(all.begin(), some.size(), some.begin());
    return some;
}

void choose_operand(Action& action, const Registers& registers, std::mt19937_64& random) {
    constexpr u8 kWidths[] = {1, 2, 4, 8};
    action.reg = registers[random() % registers.size()];
    action.width = kWidths[random() % 4];
    action.flags = random() % 2 ? DJPROBE_ACTION_SIGNED : 0;
    if (random() % 4) return;
    action.flags |= DJPROBE_ACTION_TASK;
    action.reg = static_cast<u8>(random() % DJPROBE_TASK_FIELDS);
    if (action.reg <= DJPROBE_TASK_PID && action.width == 8) action.width = 4;
}

/// A list may have only so many extremes.
u8 choose_operation(size_t& extremes, std::mt19937_64& random) {
    const auto operation = static_cast<u8>(1 + random() % DJPROBE_ACTION_MIN);
    if (operation < DJPROBE_ACTION_MAX || extremes++ < DJPROBE_EXTREMES_MAX) return operation;
    return DJPROBE_ACTION_COUNT;
}

}  // namespace

u64 operand(const Action& action, const Machine& machine, const Task& task) {
    const u64 whole = is_of_task(action) ? task[action.reg] : machine.registers[action.reg];
    u64 value = 0;
    for (unsigned int byte = 0; byte < action.width; ++byte)
        value |= (whole >> 8 * byte & 0xff) << 8 * byte;
    const u64 sign = u64{1} << (8 * action.width - 1);
    const bool is_negative = (action.flags & DJPROBE_ACTION_SIGNED) && (value & sign);
    return is_negative ? value | ~(sign | (sign - 1)) : value;
}

Actions random_actions(std::mt19937_64& random, size_t room) {
    Actions actions(1 + random() % DJPROBE_ACTIONS_MAX);
    const Registers registers = choose_registers(random);
    size_t extremes = 0;
    for (Action& action : actions) {
        action.operation = choose_operation(extremes, random);
        const bool compares = is_comparison(action.operation);
        const size_t places = room / 8 - slots_of(action.operation) + 1;
        if (!compares) action.offset = static_cast<u32>(random() % places * 8);
        if (action.operation == DJPROBE_ACTION_COUNT) continue;
        choose_operand(action, registers, random);
        if (compares) action.value = some_value(random);
    }
    return actions;
}

void make_interesting(const Actions& actions, Machine& machine, Task& task,
                      std::mt19937_64& random) {
    for (u64& field : task)
        field = some_value(random);
    for (const Action& action : actions) {
        const bool fixed = !is_of_task(action) && action.reg == DJPROBE_REG_SP;
        if (action.operation == DJPROBE_ACTION_COUNT || fixed) continue;
        u64& value = is_of_task(action) ? task[action.reg] : machine.registers[action.reg];
        if (random() % 2) value = some_value(random);
        if (action.value && random() % 2) value = action.value + random() % 3 - 1;
    }
}

void interpret(const Actions& actions, const Machine& machine, const Task& task,
               std::vector<u64>& counters) {
    for (const Action& action : actions) {
        u64& counter = counters[action.offset / 8];
        const u64 value =
            action.operation == DJPROBE_ACTION_COUNT ? 0 : operand(action, machine, task);
        if (action.operation == DJPROBE_ACTION_COUNT) {
            ++counter;
        } else if (action.operation == DJPROBE_ACTION_ADD) {
            counter += value;
        } else if (action.operation == DJPROBE_ACTION_LOG2) {
            ++(&counter)[std::bit_width(value)];
        } else if (!is_comparison(action.operation)) {
            counter = std::max(counter, extreme(action, value));
        } else if (!holds(action, value)) {
            return;
        }
    }
}

std::string describe(const Actions& actions) {
    std::ostringstream text;
    for (const Action& action : actions)
        text << int{action.operation} << " r" << int{action.reg} << ':' << int{action.width}
             << (action.flags & DJPROBE_ACTION_SIGNED ? "s" : "u")
             << (is_of_task(action) ? "task " : " ") << '+' << action.offset << " 0x" << std::hex
             << action.value << std::dec << "; ";
    return text.str();
}

}  // namespace djprobe::test
