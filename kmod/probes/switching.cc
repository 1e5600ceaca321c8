// SPDX-License-Identifier: GPL-2.0
// All probes at once are switched off, and on again; those that count once leave.
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

/// Take those that choose(probe) chooses off their sites.
template <class Choose>
void Registry::leave_where(Portions& portions, Choose&& choose) {
    constexpr size_t kMost = 32;
    Walk cursor(probes_, &djp_probe::next);
    while (!cursor.at_end()) {
        djp_probe* some[kMost];
        size_t count = 0;
        portions.take(cursor, kMost, [&](djp_probe& probe) {
            const bool chosen = choose(probe);
            if (chosen) some[count++] = &probe;
            return chosen;
        });
        if (count) leave({some, count});
        if (!cursor.at_end()) portions.pause();
    }
}

void Registry::switch_off(Portions& portions) {
    leave_where(portions, [](const djp_probe& probe) { return probe.linked; });
}

bool Registry::end_once() {
    bool more = false;
    RegistryLock lock;
    Portions portions;
    leave_where(portions, [&](djp_probe& probe) {
        const bool is_gone = probe.site && probe.site->state == State::Gone;
        if (!probe.once || !probe.linked || is_gone) return false;
        unsigned long hits = 0, missed[8];
        djk_handler_count(probe.handler, &hits, missed);
        // It stays away also when all probes are switched off and on.
        if (hits) probe.enabled = false;
        more |= !hits;
        return hits != 0;
    });
    return more;
}

/// Probes that may get their sites back now. One that must be waited for ends them.
struct Registry::Returning {
    static constexpr size_t kMost = 32;
    djp_probe* probes[kMost];
    size_t count = 0;
    bool waits = false;

    operator Probes() const { return {probes, count}; }
};

Registry::Returning Registry::take_returning(const Portions& portions, Walk& walk,
                                             size_t most) const {
    Returning some;
    portions.take_while(walk, most, [&](djp_probe& probe) {
        const bool away =
            probe.enabled && !probe.has_site() && probe.away.refused.reason != Reason::MODULE_GONE;
        some.waits = away && !is_free(probe);
        if (away && !some.waits) some.probes[some.count++] = &probe;
        return some.waits ? Taken::Not : away ? Taken::Counts : Taken::Skipped;
    });
    return some;
}

void Registry::switch_on(Portions& portions) {
    size_t alone = 0;
    // Oldest first: the handlers of a site run in the order of their attachment.
    Walk walk(probes_, &djp_probe::previous);
    while (!walk.at_end()) {
        const Walk begin = walk;
        Returning some = take_returning(portions, walk, alone ? 1 : Returning::kMost);
        Refusal refusal;
        if (place_at_once(some, refusal)) {
            for (djp_probe* probe : Probes(some))
                finish(*probe);
            alone -= alone ? some.count : 0;
        } else if (some.count == 1) {
            some.probes[0]->away.refused = refusal;
            alone -= alone ? 1 : 0;
        } else {
            // One of them cannot come back: try each alone, so that the others do. What they have
            // left behind just now may be in their way. While the wait for it lasts, other requests
            // may detach them: no pointer to them survives it.
            walk.go_back_to(begin);
            alone = some.count;
            some.waits = true;
        }
        if (some.waits)
            reclaimer_.quiesce();
        else if (!walk.at_end())
            portions.pause();
    }
}

}  // namespace djprobe::kmod
