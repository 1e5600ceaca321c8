// SPDX-License-Identifier: GPL-2.0
#include "support/action_meaning.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <numeric>
#include <random>
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

bool is_in_memory(const Action& action) {
    return (action.flags & DJPROBE_ACTION_MEMORY) != 0;
}

bool is_comparison(u8 operation) {
    return operation >= DJPROBE_ACTION_IF_EQ && operation <= DJPROBE_ACTION_IF_GE;
}

i32 displacement(const Action& action) {
    return static_cast<i32>(is_comparison(action.operation) ? action.offset : action.value);
}

/// So far from where registers point.
constexpr i32 kReach = 64;

u64 load(u64 address) {
    u64 value = 0;
    std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
    return value;
}

/// What the operand is the lowest bytes of.
u64 whole_operand(const Action& action, const Machine& machine, const Task& task) {
    if (is_of_task(action)) return task[action.reg];
    const u64 reg = machine.registers[action.reg];
    return is_in_memory(action) ? load(reg + static_cast<u64>(i64{displacement(action)})) : reg;
}

/// The counters that it may change lie in a row.
size_t slots_of(u8 operation) {
    if (operation == DJPROBE_ACTION_LOG2) return DJPROBE_LOG2_SLOTS;
    return operation == DJPROBE_ACTION_MAX || operation == DJPROBE_ACTION_MIN ? 2 : 1;
}

void choose_memory(Action& action, std::mt19937_64& random) {
    action.flags |= DJPROBE_ACTION_MEMORY;
    const i64 distance = static_cast<i64>(random() % (2 * kReach)) - kReach;
    if (is_comparison(action.operation))
        action.offset = static_cast<u32>(distance);
    else
        action.value = static_cast<u64>(distance);
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
    if (random() % 4 == 0 && action.reg != DJPROBE_REG_SP) return choose_memory(action, random);
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

u64* action_memory() {
    static u64 memory[2 * kReach / sizeof(u64) + 1];
    return memory;
}

u64 operand(const Action& action, const Machine& machine, const Task& task) {
    const u64 whole = whole_operand(action, machine, task);
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
    for (size_t i = 0; i < 2 * kReach / sizeof(u64) + 1; ++i)
        action_memory()[i] = some_value(random);
    for (const Action& action : actions)
        if (is_in_memory(action))
            machine.registers[action.reg] = reinterpret_cast<u64>(action_memory()) + kReach;
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

Actions random_conditions(std::mt19937_64& random) {
    for (;;) {
        Actions actions = random_actions(random, 8 * (DJPROBE_LOG2_SLOTS + 1));
        std::erase_if(actions, [](const Action& one) { return !is_comparison(one.operation); });
        if (actions.empty()) continue;
        // More of them hardly ever hold all.
        if (random() % 8) actions.resize(1 + random() % std::min<size_t>(actions.size(), 2));
        return actions;
    }
}

bool all_hold(const Actions& conditions, const Machine& machine, const Task& task) {
    return std::ranges::all_of(
        conditions, [&](const Action& one) { return holds(one, operand(one, machine, task)); });
}

std::string describe(const Actions& actions) {
    std::ostringstream text;
    for (const Action& action : actions)
        text << int{action.operation} << " r" << int{action.reg} << ':' << int{action.width}
             << (action.flags & DJPROBE_ACTION_SIGNED ? "s" : "u")
             << (is_of_task(action)     ? "task "
                 : is_in_memory(action) ? "memory "
                                        : " ")
             << '+' << action.offset << " 0x" << std::hex << action.value << std::dec << "; ";
    return text.str();
}

}  // namespace djprobe::test
