// SPDX-License-Identifier: GPL-2.0
// All probes at once, off and on again.
#include "registry.h"

namespace djprobe::kmod {

void Registry::set_enabled(bool enabled) {
    // Without it all are refused, which each of them says.
    if (enabled) (void)learn_landings();
    RegistryLock lock;
    if (enabled == enabled_) return;
    // Whoever comes between two portions finds it as it will be.
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
    // Handlers run in the order of their attachment.
    WalkedList<djp_probe>::Cursor cursor(probes_, &djp_probe::previous);
    while (!cursor.at_end()) {
        djp_probe* some[kMost];
        size_t count = 0;
        bool waits = false;
        // One at a time, since no pointer to a probe of others survives a wait: it may be detached.
        portions.take_while(cursor, kMost, [&](djp_probe& probe) {
            const bool away =
                probe.enabled && !probe.site && probe.refused.reason != Reason::MODULE_GONE;
            waits = away && !is_free(probe);
            if (away && !waits) some[count++] = &probe;
            return waits ? Taken::Not : away ? Taken::Counts : Taken::Skipped;
        });
        // What cannot come back does not keep the others away: it is tried alone then.
        Refusal refusal;
        (void)place_at_once({some, count}, refusal);
        for (djp_probe* probe : Probes{some, count}) {
            // Of one without a site finish() may wait, and give the lock back: the next probe may
            // be gone then.
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
