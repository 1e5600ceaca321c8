// SPDX-License-Identifier: GPL-2.0
// Sites: their states, their code and their traps, and who may touch which part when.
#pragma once

#include "../code/site_code.h"

namespace djprobe::kmod {

/// The state of a site; the one truth about its text. Numbers are ABI (enum djprobe_state).
enum class State : u32 {
    Disarmed = 0,
    Armed = 1,
    Optimizing = 2,
    Optimized = 3,
    Gone = 5,
};

/// What a CPU meets at a site now. Numbers are ABI (enum djprobe_mechanism).
enum class Mechanism : u32 { None = 0, Int3 = 1, Jump = 2 };

/// What a place may become. Numbers are ABI (enum djprobe_verdict).
enum class Verdict : u32 { Refused = 0, Int3 = 1, Jump = 2 };

/// Where an Optimizing site stands with respect to quiescence.
enum class Quiescence : u8 {
    Wanted,   ///< the optimizer has not seen it yet
    Running,  ///< int3 hits resume behind the region; the wait has begun after that
};

/// One IA. Under the registry lock, but for `hit` and the traps, which hits read lock-free.
struct Site {
    djk_site hit{};     ///< first: the detour's argument
    djk_trap trap{};    ///< the int3 at the IA
    djk_trap anchor{};  ///< the int3 where a jump before the IA is written (Slide): runs no
                        ///< handler, its resumption passes the IA
    djk_trap bypass{};  ///< an int3 in the detour that leads past its call, see bypass_call()
    State state = State::Disarmed;
    Quiescence quiescence = Quiescence::Wanted;
    x86::Plan plan;
    x86::Live live;       ///< at the IA
    Refusal hold;         ///< why there is no jump now: the plan's refusal, or what may pass
    u32 int3_probes = 0;  ///< probes that asked for int3
    u32 joining = 0;      ///< probes that are being attached but not linked yet: of any request
    unsigned int joining_wants = 0;  ///< what those want
    x86::PatchSite breakpoint;       ///< the int3 at the IA
    SiteCode code;
    x86::PatchSite written_board;  ///< in the text until after the quiescence that follows the last
                                   ///< jump; length 0: none
    bool anchor_armed = false;     ///< an int3 or the jump is at the anchor (Slide)
    bool bypassed = false;         ///< the bypass is in the detour
    djk_patch patch{};             ///< the first instruction or the region, for djk_show_patch()
    djk_patch board_patch{};       ///< the springboard, as long as it is written
    djk_seat* seat = nullptr;      ///< its part in the kernel's kprobe, see joins_kprobe()
    bool holds_module = false;     ///< see keep_module()
    bool only_board = false;    ///< in the table for its springboard only, see SiteTable::remove()
    bool arming = false;        ///< it is in the list of those to be armed
    u64 left = 0;               ///< in the garbage: the quiescence after which nobody is on it
    Site* next = nullptr;       ///< in the table's list, or in the garbage
    Site* previous = nullptr;   ///< in the table's list
    Site* next_near = nullptr;  ///< in the table's line
    Site* next_picked = nullptr;  ///< in a SiteList

    /// The module must stay while text cannot be given back because somebody else has patched it.
    void keep_module() {
        if (!holds_module) djk_keep_module();
        holds_module = true;
    }
    void let_module_go() {
        if (holds_module) djk_release_module();
        holds_module = false;
    }
    u64 address() const { return trap.address; }
    bool has_probes() const { return hit.handlers != nullptr; }
    /// The kernel had a kprobe at the IA first. Its byte and the way on from its int3 are the
    /// kernel's: the site writes no text and has no code, its handlers run in one more kprobe.
    bool joins_kprobe() const { return plan.jump.reason == Reason::SHARED_KPROBE; }
    /// Its last try failed: some other patcher's bytes are in the way. Until the next try.
    bool is_obstructed() const {
        return state == State::Armed && hold.reason == Reason::TEXT_CHANGED;
    }
    /// Nobody needs it any more.
    bool is_abandoned() const { return !has_probes() && !joining; }
    bool slides() const { return plan.may_jump() && plan.anchor != plan.site; }
    bool wants_jump() const { return state == State::Optimizing || state == State::Optimized; }
    /// The bytes that this site may ever change, the board's aside.
    Range region() const {
        return plan.may_jump() ? Range{code.jump.address, code.jump.address + code.jump.length}
                               : Range{address(), address() + 1};
    }
    /// The springboard in the text.
    Range board() const {
        return {written_board.address, written_board.address + written_board.length};
    }
    u64 out_of_line() const { return code.slot.address() + code.layout.out_of_line; }
    u64 displaced() const { return code.slot.address() + code.layout.displaced; }
};

/// An int3 or a jump of ours is in the text.
inline bool is_live(State state) {
    return state != State::Disarmed && state != State::Gone;
}

inline void set_state(Site& site, State state) {
    // Waiters and hits look without the lock.
    __atomic_store(&site.state, &state, __ATOMIC_RELEASE);
}

inline void set_resume(Site& site, u64 address) {
    __atomic_store_n(&site.trap.resume, address, __ATOMIC_RELEASE);
}

}  // namespace djprobe::kmod
