// SPDX-License-Identifier: GPL-2.0
// What the code of a site is made for, and what came of it.
#pragma once

#include "../../arch/x86/detour/detour.h"
#include "../../arch/x86/detour/patch.h"
#include "../glue/kernel.h"
#include "reads.h"
#include "slots.h"

namespace djprobe::kmod {

/// Of how many handlers a detour holds the work, at most.
inline constexpr size_t kMostHeld = 3;

/// What the code of a site is made for.
struct Shape {
    /// The handlers whose work the detour does itself: all of the site's in their order, or none.
    const djk_handler* held[kMostHeld] = {};
    u16 wants = 0;       ///< enum djk_wants, or-ed over all handlers
    u8 count = 0;        ///< how many are held
    bool front = false;  ///< only the conditions of the one that is held: hits that pass are handed
                         ///< to the list
    Reads kept{};        ///< what is dead, but handlers further on read it
    bool operator==(const Shape&) const = default;

    void hold(Span<const djk_handler* const> handlers) {
        for (const djk_handler* handler : handlers)
            held[count++] = handler;
    }
    /// Whether the detour does anything for a handler without looking at the list.
    bool holds() const { return count && !front; }
};

/// The code of a site. The text that leads to it follows from the plan and from entry().
struct SiteCode {
    Shape shape;
    x86::DetourLayout layout;
    Slot slot;

    u64 entry() const { return slot.address() + layout.entry; }
};

}  // namespace djprobe::kmod
