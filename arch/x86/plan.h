// SPDX-License-Identifier: GPL-2.0
// The analysis' answer: whether a site may be probed at all, and whether by a jump.
#pragma once

#include "snapshot.h"

namespace djprobe::x86 {

inline constexpr size_t kJumpLength = 5;
inline constexpr size_t kMaxRegion = kJumpLength - 1 + kMaxInsnLength;

/// The displaced instructions: whole instructions from the IA that cover 5 bytes, or fewer up to
/// one after which control never continues, the rest being filler.
struct Region {
    Insn insns[kJumpLength];
    u8 count = 0;
    u8 length = 0;  ///< bytes of the DCR, filler included; at least kJumpLength when complete
    u8 bytes[kMaxRegion] = {};

    constexpr Span<const Insn> all() const { return {insns, count}; }
    constexpr const Insn& last() const { return insns[count - 1]; }
};

/// What may be done at a site. Plain data; bytes are those that the snapshot showed.
struct Plan {
    u64 site = 0;
    Insn first;  ///< the probed instruction
    u8 first_bytes[kMaxInsnLength] = {};
    Region region;  ///< meaningful only while `jump` is no refusal
    Refusal jump;   ///< why the site must stay at int3; NONE: the jump is proven safe

    constexpr bool may_jump() const { return !jump; }
    /// A task may be preempted between two displaced instructions: the tail may be overwritten only
    /// after quiescence. With a single instruction there is no such place.
    constexpr bool needs_quiescence() const { return region.count > 1; }
};

/// Analyse one site. A refusal means "not a site": neither int3 nor jump. Otherwise `out` is filled
/// and out.jump tells about the jump. Pure: reads nothing but the snapshot; no allocation.
Refusal make_plan(const Snapshot& snapshot, Plan& out);

}  // namespace djprobe::x86
