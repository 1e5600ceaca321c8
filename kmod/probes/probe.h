// SPDX-License-Identifier: GPL-2.0
// A probe: one handler at one address.
#pragma once

#include "../sites/sites.h"

/// One attached probe. Under the registry lock, but for what Member says.
struct djp_probe : djprobe::kmod::Member {
    bool once = false;  ///< a counter: Registry::end_once() disables it
    bool at_return = false;
    bool is_further = false;  ///< of its function's returns, not the first
    bool enabled = true;      ///< by its owner; Registry::set_enabled() may disable all
    bool linked = false;      ///< hits on its site run its handler
    bool optional = false;    ///< its request goes on without it when it is refused
    unsigned long cookie = 0;
    djp_probe* next = nullptr;      ///< in the registry's list
    djp_probe* previous = nullptr;  ///< in the registry's list

    /// Its request goes on without it; `away.refused` says why.
    bool is_left_out() const { return optional && !rests && away.refused; }

    /// What the kernel has skipped at its sites while it was linked.
    djprobe::u32 skipped() const {
        if (rests) return 0;
        const bool now = linked && site->seat;
        return away.missed_in_kprobe +
               (now ? djk_missed_in_kprobe(site->seat) - away.missed_before : 0);
    }
    /// Before it is linked, and before its link or the site's seat goes.
    void keep_skipped() {
        if (rests) return;
        away.missed_in_kprobe = skipped();
        if (site->seat) away.missed_before = djk_missed_in_kprobe(site->seat);
    }
};

static_assert(sizeof(djp_probe) <= DJK_PROBE_SIZE);

template <>
struct djprobe::kmod::Room<djp_probe> {
    static void* take() { return djk_take(DJK_PROBES); }
    static void give_back(djp_probe& probe) {
        probe.~djp_probe();
        djk_give_back(DJK_PROBES, &probe);
    }
};
