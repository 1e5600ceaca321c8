// SPDX-License-Identifier: GPL-2.0
// A site at rest.
#pragma once

#include "../code/site_code.h"
#include "kept_plan.h"

namespace djprobe::kmod {

struct Member;

/// What is left of a site whose jump is in the text and whose detour does all the work of its only
/// member, which counts: no hit needs more. The rest is made again when the site changes, or when
/// another one comes close. There may be hundreds of thousands: each takes a fifth of a Site.
struct RestingSite {
    /// A longer region is rare, and its site does not rest.
    static constexpr size_t kMostBytes = 12;

    djk_patch patch;  ///< the region; its original bytes are those below
    Member* next_near;
    SlotChunk* slot_chunk;  ///< Slot::Words, without their padding
    u16 slot_place, slot_granules;
    u8 bytes[kMostBytes];
    /// x86::DetourLayout, whose offsets are small here.
    struct Layout {
        u8 entry, call, handler, restore, displaced, out_of_line, cold, size;
    } layout;
    x86::Live live;
    Reads kept;  ///< Shape::kept
    u8 count, first_length;
    u8 to_ia;    ///< bytes from the anchor to the IA (Slide)
    u8 before;   ///< KeptPlan::before
    bool leads;  ///< KeptPlan::Region::leads

    u64 address() const { return patch.address + to_ia; }
    x86::Tactic tactic() const { return to_ia ? x86::Tactic::Slide : x86::Tactic::Window; }
    Range region() const { return {patch.address, patch.address + patch.length}; }
    Span<const u8> original() const { return {bytes, patch.length}; }

    /// Whether the region of the site fits, and whether its code does.
    static bool fits(const KeptPlan& plan);
    static bool fits(const SiteCode& code) { return code.layout.size <= 0xff; }
    /// Everything but the patch's place among others, `next_near` and the slot.
    void keep(const KeptPlan& plan, const x86::Live& live, const SiteCode& code);
    /// Only one at a time owns the slot.
    void keep_slot(const Slot::Words& words) {
        slot_chunk = words.chunk;
        slot_place = words.place;
        slot_granules = words.granules;
    }
    Slot slot() const { return Slot({slot_chunk, slot_place, slot_granules}); }
    KeptPlan plan() const;
    x86::DetourLayout detour() const;
};

}  // namespace djprobe::kmod
