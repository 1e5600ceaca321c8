// SPDX-License-Identifier: GPL-2.0
// The patch protocol: how text that CPUs are running is changed, step by step.
//
// The steps and the invariant that each leaves behind; the region is anchor..anchor+length, and the
// anchor is the IA but for slides:
//
//   arm          1 IA = int3                        every CPU sees the old byte or int3
//                2 core sync                        every CPU sees int3
//   optimize     3 quiescence                       no task stands inside the region
//                4 tail = rest of the jump, filler  no CPU can fetch it: int3 is before it
//                5 core sync                        every CPU would see the new tail
//                6 anchor = jmp                     every CPU sees int3 or the whole jump
//                7 core sync                        every CPU sees the jump
//   unoptimize   8 anchor = int3                    as 1
//                9 core sync                        every CPU sees int3
//               10 tail = original                  no CPU can fetch it
//               11 core sync                        every CPU would see the original tail
//   disarm      12 IA = original byte               every CPU sees int3 or the old instruction
//               13 core sync                       every CPU sees the old instruction
//
// The numbers stand again at the lines below. A slide's anchor has an int3 of its own: the caller
// arms it like the IA before 3 and disarms it like the IA after 11.
//
// What the steps rest on (chapters as in the editions of 2022):
// - A CPU writes one byte atomically, more bytes not (Intel SDM vol. 3, 9.1.1 "Guaranteed Atomic
//   Operations"). So the first byte changes alone, and the tail changes only behind an int3.
// - A CPU may run an old copy of changed code until it executes a serializing instruction (Intel
//   SDM vol. 3, 9.1.3 "Handling Self- and Cross-Modifying Code" and 9.3 "Serializing Instructions";
//   AMD APM vol. 2, 7.6.1). So a core sync stands behind each write.
// - A task may have been preempted at an instruction of the region. So the caller waits for
//   quiescence before 4. A region of one instruction needs no wait: no task can stand within it.
//
// The caller frees a detour only after 11 and one more quiescence: until then a task may be
// preempted in the detour. An int3 hit between 4 and 10 must resume behind the whole region, not
// behind its first instruction: the caller switches that before 3 and back after 11.
#pragma once

#include "../analysis/plan.h"

namespace djprobe::x86 {

/// The bytes of one site in all its forms.
struct PatchSite {
    u64 address = 0;
    u8 length = 0;  ///< of the region; 1 for a site that never gets a jump
    u8 original[kMaxRegion] = {};
    u8 jump[kMaxRegion] = {};  ///< jmp rel32 and filler
};

/// What the text of a site holds between two transitions.
enum class TextForm : u8 {
    Original,
    Breakpoint,  ///< int3, the rest original
    Jump,
};

/// What the bytes of a site follow from: of a Plan, or of what is kept of one under the same names.
struct PatchPlan {
    template <class AnyPlan>
    PatchPlan(const AnyPlan& plan)  // NOLINT(google-explicit-constructor): plans convert
        : site(plan.site),
          anchor(plan.anchor),
          board(plan.board),
          tactic(plan.tactic),
          first_byte(plan.first_bytes[0]),
          region(plan.region.bytes, plan.region.length),
          board_bytes(plan.board_bytes) {}

    u64 site, anchor, board;
    Tactic tactic;
    u8 first_byte;
    Span<const u8> region;
    Span<const u8> board_bytes;
};

/// The bytes for the int3 at the IA. Reads the plan only; any context.
PatchSite make_breakpoint_site(const PatchPlan& plan);

/// The bytes for the jump at the anchor, which leads to `entry` or to the springboard. While it is
/// not there the IA holds an int3: for an anchor before the IA (Slide) that int3 is part of the
/// `original` tail. OUT_OF_REACH when the jump does not reach.
Refusal make_jump_site(const PatchPlan& plan, u64 entry, PatchSite& out);

/// The bytes of the springboard, which leads to `entry`. They are dead while no jump leads to them:
/// write them before optimize(), restore them after unoptimize() and a quiescence, since a task may
/// be preempted right on them. OUT_OF_REACH when the springboard does not reach `entry`.
Refusal make_board(const PatchPlan& plan, u64 entry, PatchSite& out);

/// What the protocol needs of its environment. The calls may sleep; the caller serializes against
/// every other writer of text (in the kernel: text_mutex) over a whole transition.
template <class Port>
concept TextPort = requires(Port& port, u64 address, Span<const u8> bytes) {
    port.write(address, bytes);  // live text; a single byte atomically
    port.sync_cores();           // returns after each CPU executed a serializing instruction
    static_cast<bool>(port.matches(address, bytes));  // the text holds these bytes now
};

/// FOREIGN_PATCH with the first address where the text of `site` differs from `form`: another
/// patcher has written there. Ask before every transition, under the same serialization.
template <TextPort Port>
Refusal check_text(Port& port, const PatchSite& site, TextForm form) {
    for (u8 i = 0; i < site.length; ++i) {
        u8 expected = form == TextForm::Jump ? site.jump[i] : site.original[i];
        if (i == 0 && form == TextForm::Breakpoint) expected = kInt3;
        if (!port.matches(site.address + i, {&expected, 1}))
            return Refusal{Reason::FOREIGN_PATCH, site.address + i};
    }
    return {};
}

namespace detail {

template <TextPort Port>
void write_first(Port& port, const PatchSite& site, u8 byte) {
    port.write(site.address, {&byte, 1});
}

template <TextPort Port>
void write_tail(Port& port, const PatchSite& site, const u8* form) {
    if (site.length > 1)
        port.write(site.address + 1, {form + 1, static_cast<size_t>(site.length - 1)});
}

template <class Sites>
bool is_empty(const Sites& sites) {
    return !(sites.begin() != sites.end());
}

}  // namespace detail

// Each transition takes a range of `const PatchSite*`-like handles, so that a batch shares its core
// syncs; an empty range interrupts no CPU. All sites must be in the form that the transition starts
// from. A transition may sleep, as its port may; it cannot fail.

/// Original -> Breakpoint.
template <TextPort Port, class Sites>
void arm(Port& port, const Sites& sites) {
    if (detail::is_empty(sites)) return;
    // 1: IA = int3. One byte (SDM 9.1.1): every CPU sees the old byte or int3.
    for (const auto& site : sites)
        detail::write_first(port, *site, kInt3);
    // 2: core sync (SDM 9.1.3): every CPU sees int3.
    port.sync_cores();
}

/// Dead bytes -> springboard; before optimize(), whose first core sync serves it, too.
template <TextPort Port>
void write_board(Port& port, const PatchSite& board) {
    port.write(board.address, {board.jump, board.length});
}

/// Springboard -> dead bytes. The caller has waited for quiescence since the last jump to it is
/// gone, and syncs the cores afterwards.
template <TextPort Port>
void restore_board(Port& port, const PatchSite& board) {
    port.write(board.address, {board.original, board.length});
}

/// Breakpoint -> Jump. 3: the caller has waited for quiescence since int3 hits resume behind the
/// region.
template <TextPort Port, class Sites>
void optimize(Port& port, const Sites& sites) {
    if (detail::is_empty(sites)) return;
    // 4: tail = rest of the jump, filler. No CPU can fetch it: int3 is before it.
    for (const auto& site : sites)
        detail::write_tail(port, *site, site->jump);
    // 5: core sync (SDM 9.1.3): every CPU would see the new tail.
    port.sync_cores();
    // 6: anchor = jmp. One byte (SDM 9.1.1): every CPU sees int3 or the whole jump.
    for (const auto& site : sites)
        detail::write_first(port, *site, site->jump[0]);
    // 7: core sync: every CPU sees the jump.
    port.sync_cores();
}

/// Jump -> Breakpoint.
template <TextPort Port, class Sites>
void unoptimize(Port& port, const Sites& sites) {
    if (detail::is_empty(sites)) return;
    // 8: anchor = int3. One byte (SDM 9.1.1): every CPU sees the whole jump or int3.
    for (const auto& site : sites)
        detail::write_first(port, *site, kInt3);
    // 9: core sync (SDM 9.1.3): every CPU sees int3.
    port.sync_cores();
    // 10: tail = original. No CPU can fetch it: int3 is before it.
    for (const auto& site : sites)
        detail::write_tail(port, *site, site->original);
    // 11: core sync: every CPU would see the original tail.
    port.sync_cores();
}

/// Breakpoint -> Original.
template <TextPort Port, class Sites>
void disarm(Port& port, const Sites& sites) {
    if (detail::is_empty(sites)) return;
    // 12: IA = original byte. One byte (SDM 9.1.1): every CPU sees int3 or the old instruction.
    for (const auto& site : sites)
        detail::write_first(port, *site, site->original[0]);
    // 13: core sync (SDM 9.1.3): every CPU sees the old instruction.
    port.sync_cores();
}

}  // namespace djprobe::x86
