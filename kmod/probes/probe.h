// SPDX-License-Identifier: GPL-2.0
// A probe: one handler at one address.
#pragma once

#include "../sites/sites.h"

/// One attached probe. Under the registry lock, except `site`.
struct djp_probe : djprobe::kmod::Discarded {
    /// nullptr: the probe is disabled, or was refused when it was enabled again. djp_is_settled()
    /// reads it without the lock, under RCU: sites are freed after a quiescence.
    djprobe::kmod::Site* site = nullptr;
    djk_handler* handler = nullptr;
    unsigned long address = 0;
    unsigned long cookie = 0;
    bool int3_only = false;
    bool once = false;  ///< a counter: Registry::end_once() disables it
    bool at_return = false;
    bool is_further = false;  ///< of its function's returns, not the first
    bool enabled = true;      ///< by its owner; Registry::set_enabled() may disable all
    bool linked = false;      ///< hits on its site run its handler
    bool optional = false;    ///< its request goes on without it when it is refused
    unsigned long since = 0;  ///< Target::since, while its request is under way; else 0
    // What a kernel's kprobe at its site skips is counted there for the kprobe's whole life.
    djprobe::u32 missed_in_kprobe = 0;  ///< while the probe was linked, but for its present link
    djprobe::u32 missed_before = 0;     ///< the kprobe's number when the probe was linked
    djprobe::u64 left = 0;              ///< the quiescence after which no hit stands on its handler
    djprobe::Refusal refused;           ///< why enabling it again failed
    djp_probe* next = nullptr;          ///< in the registry's list
    djp_probe* previous = nullptr;      ///< in the registry's list

    /// Its request goes on without it; `refused` says why.
    bool is_left_out() const { return optional && refused; }
    djprobe::kmod::Member member() const { return {address, handler, int3_only}; }

    /// What the kernel has skipped at its sites while it was linked.
    djprobe::u32 skipped() const {
        const bool now = linked && site->seat;
        return missed_in_kprobe + (now ? djk_missed_in_kprobe(site->seat) - missed_before : 0);
    }
    /// Before it is linked, and before its link or the site's seat goes.
    void keep_skipped() {
        missed_in_kprobe = skipped();
        if (site->seat) missed_before = djk_missed_in_kprobe(site->seat);
    }
};
