// SPDX-License-Identifier: GPL-2.0
// What the code of a site is made for, and what came of it.
#pragma once

#include "../../arch/x86/detour/detour.h"
#include "../../arch/x86/detour/patch.h"
#include "../glue/kernel.h"
#include "reads.h"
#include "slots.h"

namespace djprobe::kmod {

/// What the code of a site is made for.
struct Shape {
    const djk_handler* direct = nullptr;  ///< the detour does itself what this one does
    const djk_handler* front = nullptr;   ///< the detour decides itself which hits reach this one
    unsigned int wants = 0;               ///< enum djk_wants, or-ed over all handlers
    Reads kept{};                         ///< what is dead, but handlers further on read it
    bool operator==(const Shape&) const = default;
};

/// The code of a site. The text that leads to it follows from the plan and from entry().
struct SiteCode {
    Shape shape;
    x86::DetourLayout layout;
    Slot slot;

    u64 entry() const { return slot.address() + layout.entry; }
};

}  // namespace djprobe::kmod
