// SPDX-License-Identifier: GPL-2.0
// The analysis' answer: whether a site may be probed at all, and whether by a jump.
#pragma once

#include "snapshot.h"

namespace djprobe::x86 {

inline constexpr size_t kMaxRegionInsns = 8;

/// How the jump gets to fit.
enum class Tactic : u8 {
    Window,       ///< five bytes from the IA on
    Slide,        ///< five bytes from an earlier instruction of the same basic block on
    Springboard,  ///< two bytes at the IA, to five dead bytes nearby that hold the long jump
};
inline constexpr u8 tactic_bit(Tactic tactic) {
    return static_cast<u8>(1u << static_cast<u8>(tactic));
}
inline constexpr u8 kAllTactics =
    tactic_bit(Tactic::Window) | tactic_bit(Tactic::Slide) | tactic_bit(Tactic::Springboard);

/// The displaced instructions: whole instructions from where the jump is written (the anchor), at
/// least as long as the jump, or fewer up to one after which control never continues, the rest
/// being filler.
struct Region {
    Insn insns[kMaxRegionInsns];
    u8 count = 0;
    u8 length = 0;  ///< bytes of the DCR, filler included
    u8 bytes[kMaxRegion] = {};

    constexpr Span<const Insn> all() const { return {insns, count}; }
    constexpr const Insn& last() const { return insns[count - 1]; }
};

/// What may be done at a site. Plain data; bytes are those that the snapshot showed.
struct Plan {
    u64 site = 0;
    Insn first;  ///< the probed instruction
    u8 first_bytes[kMaxInsnLength] = {};
    Refusal jump;  ///< why the site must stay at int3; NONE: the jump is proven safe

    // Meaningful only while `jump` is no refusal:
    Tactic tactic = Tactic::Window;
    u64 anchor = 0;  ///< where the jump is written; the IA, or before it (Slide)
    u8 before = 0;   ///< displaced instructions that run before the handler (Slide)
    u64 board = 0;   ///< the five dead bytes (Springboard)
    u8 board_bytes[kJumpLength] = {};
    Region region;

    constexpr bool may_jump() const { return !jump; }
};

/// Analyse one site. A refusal means "not a site": neither int3 nor jump. Otherwise `out` is filled
/// and out.jump tells about the jump. Pure: reads nothing but the snapshot, and fills
/// its memo; no allocation.
Refusal make_plan(const Snapshot& snapshot, Plan& out);

}  // namespace djprobe::x86
