// SPDX-License-Identifier: GPL-2.0
// The actions of a handler, as the detours' code takes them.
#pragma once

#include "../../arch/x86/detour/action.h"
#include "../glue/kernel.h"

namespace djprobe::kmod {

/// With a counter: what it does with that; else the conditions in front of what it runs.
inline Span<const x86::Action> actions_of(const djk_handler* handler) {
    const x86::Action* actions = nullptr;
    const size_t count = djk_handler_actions(handler, &actions);
    return {actions, count};
}

}  // namespace djprobe::kmod
