// SPDX-License-Identifier: GPL-2.0
// A probe: one handler at one address.
#pragma once

#include "../sites/sites.h"

/// One attached probe. Under the registry lock, but for `site`.
struct djp_probe : djprobe::kmod::Discarded {
    /// nullptr: disabled, or refused when it was enabled again. WAIT looks at it without the lock;
    /// sites are freed after quiescence.
    djprobe::kmod::Site* site = nullptr;
    djk_handler* handler = nullptr;
    unsigned long address = 0;
    unsigned long cookie = 0;
    bool int3_only = false;
    bool at_return = false;
    bool enabled = true;            ///< itself; Registry::set_enabled() may still disable all
    bool linked = false;            ///< hits on its site run its handler
    unsigned long since = 0;        ///< of a request under way: as Target::since
    djprobe::u64 left = 0;          ///< the quiescence after which no hit stands on its handler
    djprobe::Refusal refused;       ///< why enabling it again failed
    djp_probe* next = nullptr;      ///< in the registry's list
    djp_probe* previous = nullptr;  ///< in the registry's list

    djprobe::kmod::Member member() const { return {address, handler, int3_only}; }
};
