// SPDX-License-Identifier: GPL-2.0
#include "support/action_meaning.h"

#include <bit>
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

bool holds(const Action& action, const Machine& machine) {
    const u64 left = operand(action, machine);
    if (!(action.flags & DJPROBE_ACTION_SIGNED))
        return holds<u64>(action.operation, left, action.value);
    return holds<i64>(action.operation, static_cast<i64>(left), static_cast<i64>(action.value));
}

u64 some_value(std::mt19937_64& random) {
    const u64 value = random() >> random() % 64;
    return random() % 3 ? value : 0 - value;
}

}  // namespace

u64 operand(const Action& action, const Machine& machine) {
    u64 value = 0;
    for (unsigned int byte = 0; byte < action.width; ++byte)
        value |= (machine.registers[action.reg] >> 8 * byte & 0xff) << 8 * byte;
    const u64 sign = u64{1} << (8 * action.width - 1);
    const bool is_negative = (action.flags & DJPROBE_ACTION_SIGNED) && (value & sign);
    return is_negative ? value | ~(sign | (sign - 1)) : value;
}

Actions random_actions(std::mt19937_64& random, size_t room) {
    constexpr u8 kWidths[] = {1, 2, 4, 8};
    Actions actions(1 + random() % DJPROBE_ACTIONS_MAX);
    for (Action& action : actions) {
        action.operation = static_cast<u8>(DJPROBE_ACTION_COUNT + random() % DJPROBE_ACTION_IF_GE);
        const bool compares = action.operation >= DJPROBE_ACTION_IF_EQ;
        const size_t slots =
            action.operation == DJPROBE_ACTION_LOG2 ? size_t{DJPROBE_LOG2_SLOTS} : 1;
        if (!compares) action.offset = static_cast<u32>(random() % (room / 8 - slots + 1) * 8);
        if (action.operation == DJPROBE_ACTION_COUNT) continue;
        action.reg = static_cast<u8>(random() % DJPROBE_REGS);
        action.width = kWidths[random() % 4];
        action.flags = random() % 2 ? DJPROBE_ACTION_SIGNED : 0;
        if (compares) action.value = some_value(random);
    }
    return actions;
}

void make_interesting(const Actions& actions, Machine& machine, std::mt19937_64& random) {
    for (const Action& action : actions) {
        if (action.operation == DJPROBE_ACTION_COUNT || action.reg == DJPROBE_REG_SP) continue;
        u64& value = machine.registers[action.reg];
        if (random() % 2) value = some_value(random);
        if (action.value && random() % 2) value = action.value + random() % 3 - 1;
    }
}

void interpret(const Actions& actions, const Machine& machine, std::vector<u64>& counters) {
    for (const Action& action : actions) {
        u64& counter = counters[action.offset / 8];
        if (action.operation == DJPROBE_ACTION_COUNT) {
            ++counter;
        } else if (action.operation == DJPROBE_ACTION_ADD) {
            counter += operand(action, machine);
        } else if (action.operation == DJPROBE_ACTION_LOG2) {
            ++(&counter)[std::bit_width(operand(action, machine))];
        } else if (!holds(action, machine)) {
            return;
        }
    }
}

std::string describe(const Actions& actions) {
    std::ostringstream text;
    for (const Action& action : actions)
        text << int{action.operation} << " r" << int{action.reg} << ':' << int{action.width}
             << (action.flags ? "s " : "u ") << '+' << action.offset << " 0x" << std::hex
             << action.value << std::dec << "; ";
    return text.str();
}

}  // namespace djprobe::test
