// SPDX-License-Identifier: GPL-2.0
// All probes at once are switched off, and on again.
#include "registry.h"

namespace djprobe::kmod {

void Registry::set_enabled(bool enabled) {
    // Without memory for it every probe is refused, and keeps that reason.
    if (enabled) (void)learn_landings();
    RegistryLock lock;
    if (enabled == enabled_) return;
    // A request that comes between two portions must act by the new value.
    enabled_ = enabled;
    ++switches_;
    Portions portions;
    if (enabled)
        switch_on(portions);
    else
        switch_off(portions);
}

void Registry::switch_off(Portions& portions) {
    constexpr size_t kMost = 32;
    WalkedList<djp_probe>::Cursor cursor(probes_, &djp_probe::next);
    while (!cursor.at_end()) {
        djp_probe* some[kMost];
        size_t count = 0;
        portions.take(cursor, kMost, [&](djp_probe& probe) {
            if (probe.linked) some[count++] = &probe;
            return probe.linked;
        });
        leave({some, count});
        if (!cursor.at_end()) portions.pause();
    }
}

void Registry::switch_on(Portions& portions) {
    constexpr size_t kMost = 32;
    // Oldest first: the handlers of a site run in the order of their attachment.
    WalkedList<djp_probe>::Cursor cursor(probes_, &djp_probe::previous);
    while (!cursor.at_end()) {
        djp_probe* some[kMost];
        size_t count = 0;
        bool waits = false;
        // A probe that must be waited for ends the portion: a pointer to another request's probe
        // does not survive a wait, since the probe may be detached.
        portions.take_while(cursor, kMost, [&](djp_probe& probe) {
            const bool away =
                probe.enabled && !probe.site && probe.refused.reason != Reason::MODULE_GONE;
            waits = away && !is_free(probe);
            if (away && !waits) some[count++] = &probe;
            return waits ? Taken::Not : away ? Taken::Counts : Taken::Skipped;
        });
        // If one of them cannot come back, finish() tries each alone, so that the others do.
        Refusal refusal;
        (void)place_at_once({some, count}, refusal);
        for (djp_probe* probe : Probes{some, count}) {
            // finish() may wait for a probe without a site, and give the lock back: the next probe
            // could be gone then.
            if (probe->site || is_free(*probe))
                finish(*probe);
            else
                probe->refused = Refusal{Reason::OVERLAP, probe->address};
        }
        if (waits)
            reclaimer_.quiesce();
        else if (!cursor.at_end())
            portions.pause();
    }
}

}  // namespace djprobe::kmod
