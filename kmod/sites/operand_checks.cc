// SPDX-License-Identifier: GPL-2.0
#include "operand_checks.h"

#include "../code/actions_of.h"

namespace djprobe::kmod {
namespace {

/// Whatever a compiler has made, its stack pointer leads to its own frame or to its return address.
bool is_on_stack(const x86::Action& action, u64 site) {
    const i32 displacement = x86::displacement_of(action);
    unsigned long function = 0, size = 0;
    return action.reg == DJPROBE_REG_SP && displacement >= 0 &&
           displacement + action.width <= i32{sizeof(u64)} &&
           djk_symbol_range(site, &function, &size) && djk_is_compiled(function);
}

bool is_readable(const x86::Action& action, const x86::Plan& plan) {
    // Below the stack pointer the detour keeps words of its own.
    if (action.reg == DJPROBE_REG_SP && x86::displacement_of(action) < 0) return false;
    // An instruction with an exception-table entry is no site.
    return x86::reads_memory({plan.first_bytes, plan.first.length}, action.reg,
                             x86::displacement_of(action), action.width) ||
           is_on_stack(action, plan.site);
}

}  // namespace

Refusal check_operands(const djk_handler* handler, const x86::Plan& plan) {
    const Span<const x86::Action> actions = actions_of(handler);
    for (size_t i = 0; i < actions.size(); ++i)
        if (x86::is_in_memory(actions[i]) && !is_readable(actions[i], plan))
            return Refusal{Reason::OPERAND_MAY_FAULT, i, actions[i].operation};
    return {};
}

}  // namespace djprobe::kmod
