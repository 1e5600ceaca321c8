// SPDX-License-Identifier: GPL-2.0
// Detour emission: from a plan to the bytes of a slot.
#pragma once

#include "../analysis/plan.h"
#include "count.h"
#include "program_call.h"
#include "relocate.h"

namespace djprobe::x86 {

/// What a detour calls, with the whole frame, and what it must know of the machine.
struct DetourConfig {
    /// handler(Frame*, argument), called with the site's flags but DF clear (and AC clear with
    /// `smap`); may use all caller-saved general registers, no vector ones. What it changes of the
    /// frame's general registers and flags takes effect.
    u64 handler = 0;
    u64 argument = 0;
    /// The handler returns a bool: true continues where Frame::ip and Frame::sp say.
    bool redirects = false;
    /// Call it again behind the probed instruction: with this argument, and Frame::ip the next
    /// instruction. The probed one must be one that runs straight on (POST_AT_BRANCH).
    bool after = false;
    u64 after_argument = 0;
    u16 cs = 0;  ///< Frame::cs, a constant of the environment
    u16 ss = 0;  ///< Frame::ss
    bool smap =
        false;  ///< the CPU has clac: the handler must not inherit an open user-access window
    u64 return_thunk = 0;  ///< see Emitter::return_through()
    FrontConfig front = {};
    Live live = {};  ///< at the site, for what is in front
};

/// What the instructions of a detour are there for, in their order.
enum class DetourPart : u8 {
    Before,     ///< displaced instructions that run before the handler (Slide)
    Save,       ///< saves what the handler may change, and prepares its arguments
    Call,       ///< calls the handler, or counts
    Restore,    ///< restores what was saved
    Displaced,  ///< the displaced instructions from the IA on, and the jump back
    OutOfLine,  ///< the probed instruction alone
    Cold,       ///< what the call runs rarely
};

/// Offsets within the slot. Without a jump the slot holds an out-of-line copy and, at most, a cold
/// part; then all offsets but `size` are 0.
struct DetourLayout {
    u16 entry = 0;        ///< target of the site's jump; an int3 at the anchor resumes here (Slide)
    u16 call = 0;         ///< where the handler's call begins: saving
    u16 handler = 0;      ///< the instruction that calls the handler, or those that count
    u16 restore = 0;      ///< the instruction behind
    u16 displaced = 0;    ///< the displaced instructions from the IA on: where an int3 hit resumes
                          ///< once optimizing
    u16 out_of_line = 0;  ///< the probed instruction alone: where an int3 hit resumes before
    u16 cold = 0;         ///< what the call runs rarely
    u16 size = 0;

    /// The part of a whole detour that the instruction at `offset` belongs to.
    constexpr DetourPart part_at(u16 offset) const {
        if (offset < call) return DetourPart::Before;
        if (offset < handler) return DetourPart::Save;
        if (offset < restore) return DetourPart::Call;
        if (offset < displaced) return DetourPart::Restore;
        if (offset >= cold) return DetourPart::Cold;
        // With one displaced instruction the two copies are one.
        const bool own_copy = out_of_line != displaced;
        return own_copy && offset >= out_of_line ? DetourPart::OutOfLine : DetourPart::Displaced;
    }
};

/// The most actions and conditions of a detour that does the work of several.
inline constexpr size_t kMostSharedActions = 7;

/// Upper bound of a detour's size in bytes; see DetourTest.LargestDetourFits.
inline constexpr size_t kMaxDetour = 1024;

/// Emit what the plan needs to run at `address`: with a jump the whole detour, always the
/// out-of-line copy of the probed instruction. OUT_OF_REACH when the slot is too far from the site.
Refusal emit_detour(const Plan& plan, const DetourConfig& config, u64 address, Span<u8> out,
                    DetourLayout& layout);

/// The same with a program that the detour calls itself; `live` is what is live at the site.
Refusal emit_direct_detour(const Plan& plan, const DirectConfig& config, const Live& live,
                           u64 address, Span<u8> out, DetourLayout& layout);

/// The same with a counter in place of a call.
Refusal emit_counting_detour(const Plan& plan, const CountConfig& config, const Live& live,
                             u64 address, Span<u8> out, DetourLayout& layout);

/// Only the out-of-line copy, followed by the call behind it if there is one: all that a site at
/// int3 needs.
Refusal emit_out_of_line(const Plan& plan, const DetourConfig& config, u64 address, Span<u8> out,
                         DetourLayout& layout);

}  // namespace djprobe::x86
