// SPDX-License-Identifier: GPL-2.0
// A probe, as its site sees it.
#pragma once

#include "discarded.h"
#include "resting_site.h"

namespace djprobe::kmod {

struct Site;

/// What a probe knows while its site does not rest, or while it has none.
struct Away {
    u64 left = 0;             ///< the quiescence after which no hit stands on its handler
    Refusal refused;          ///< why enabling it again failed
    unsigned long since = 0;  ///< Target::since, while its request is under way; else 0
    // What a kernel's kprobe at its site skips is counted there for the kprobe's whole life.
    u32 missed_in_kprobe = 0;  ///< while the probe was linked, but for its present link
    u32 missed_before = 0;     ///< the kprobe's number when the probe was linked
    Discarded discarded;       ///< once it is detached
};

/// Under the registry lock, except `site`. Sites lets a site rest, and wakes it; else only the
/// registry writes here.
struct Member {
    Member() : away() {}

    union {
        RestingSite resting;  ///< if it rests
        Away away;            ///< if not
    };
    u64 address = 0;
    djk_handler* handler = nullptr;
    /// nullptr: it has no site, because it is disabled or was refused when it was enabled again; or
    /// its site rests. djp_is_settled() reads it without the lock, under RCU: sites are freed after
    /// a quiescence.
    Site* site = nullptr;
    bool int3_only = false;
    bool rests = false;

    /// It is on a site, awake or at rest.
    bool has_site() const { return site || rests; }
};

// For NearLines; the second one while it rests.
inline u64 ia_of(const Member& member) {
    return member.address;
}
inline Member*& next_near(Member& member) {
    return member.resting.next_near;
}

inline void set_site(Member& member, Site* site) {
    __atomic_store_n(&member.site, site, __ATOMIC_RELEASE);
}

}  // namespace djprobe::kmod
