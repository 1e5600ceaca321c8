// SPDX-License-Identifier: GPL-2.0
// A site: its state, its code, its traps, and which of its parts hits read.
#pragma once

#include "../border/memory.h"
#include "member.h"

namespace djprobe::kmod {

/// The state of a site: the one truth about its text. The numbers are ABI (enum djprobe_state).
enum class State : u32 {
    Disarmed = 0,    ///< the original bytes are in the text
    Armed = 1,       ///< an int3 is at the IA
    Optimizing = 2,  ///< the same; the jump comes after a quiescence
    Optimized = 3,   ///< the jump is in the text
    Gone = 5,        ///< the kernel frees the text with its module
};

/// What a CPU meets at a site now. The numbers are ABI (enum djprobe_mechanism).
enum class Mechanism : u32 { None = 0, Int3 = 1, Jump = 2 };

/// What a place may become. The numbers are ABI (enum djprobe_verdict).
enum class Verdict : u32 { Refused = 0, Int3 = 1, Jump = 2 };

/// How far an Optimizing site is on its way through quiescence.
enum class Quiescence : u8 {
    Wanted,   ///< the optimizer has not prepared it yet
    Running,  ///< hits at the int3 resume behind the region; the wait begins after that
};

/// Whether a site may come to rest soon.
enum class Stay : u8 { Short, Long };

/// One IA. Under the registry lock, except `hit` and the other traps, which hits read without a
/// lock, and `state`, which waiting tasks read.
struct Site {
    explicit Site(Stay how_long) : stay(how_long) {}

    djk_site hit{};     ///< first: the detour's argument
    djk_trap anchor{};  ///< the int3 where a jump before the IA begins (Slide): it runs no handler
                        ///< and resumes in the detour, which passes the IA
    djk_trap bypass{};  ///< an int3 in the detour in place of what it holds: Sites::bypass_held()
    State state = State::Disarmed;
    Quiescence quiescence = Quiescence::Wanted;
    bool anchor_armed = false;  ///< an int3 or the jump is at the anchor (Slide)
    bool bypassed = false;      ///< the bypass is in the detour
    bool is_reader = false;     ///< Sites::readers_ has it
    KeptPlan plan;
    x86::Live live;             ///< at the IA
    bool holds_module = false;  ///< see keep_module()
    bool only_board = false;    ///< the table lists it for its springboard: SiteTable::remove()
    bool arming = false;        ///< Sites::arm() has it in its list
    Stay stay;
    Refusal hold;  ///< why there is no jump now: the plan's refusal, or a cause that may pass
    u32 int3_probes = 0;  ///< probes that have asked for int3
    u32 joining = 0;      ///< members of any request that have joined and are not linked yet
    unsigned int joining_wants = 0;  ///< enum djk_wants, or-ed over these
    Reads joining_reads;             ///< likewise
    SiteCode code;
    Member* members[2] = {};      ///< the first two that are linked, as long as they are
    u64 board_entry = 0;          ///< where the springboard in the text leads, until a
                                  ///< quiescence after the last jump to it; 0: there is none
    djk_patch patch{};            ///< the first instruction or the region, for djk_show_patch()
    djk_patch board_patch{};      ///< the springboard, as long as it is written
    djk_seat* seat = nullptr;     ///< its own kprobe beside the kernel's, see joins_kprobe()
    u64 left = 0;                 ///< removed: the quiescence after which no CPU is on it
    Site* next = nullptr;         ///< in the table's list, or in the reclaimer's
    Site* previous = nullptr;     ///< in the table's list
    Site* next_near = nullptr;    ///< in the table's line
    Site* next_picked = nullptr;  ///< in a SiteList

    /// The module must stay as long as another patcher keeps this site's bytes in the text.
    void keep_module() {
        if (!holds_module) djk_keep_module();
        holds_module = true;
    }
    void let_module_go() {
        if (holds_module) djk_release_module();
        holds_module = false;
    }
    u64 address() const { return hit.trap.address; }
    bool has_probes() const { return hit.handlers != nullptr; }
    /// The kernel had a kprobe at the IA first. The kernel owns the byte and decides where its int3
    /// continues: the site writes no text and has no code, its handlers run in one more kprobe.
    bool joins_kprobe() const { return plan.jump.reason == Reason::SHARED_KPROBE; }
    /// The last try to write its jump failed, because another patcher's bytes are in the way.
    bool is_obstructed() const {
        return state == State::Armed && hold.reason == Reason::TEXT_CHANGED;
    }
    /// Only one is linked, and it is among the first two.
    bool has_only_member() const {
        const bool known = is_first(members[0]) || is_first(members[1]);
        return hit.handlers && !hit.handlers->next && known;
    }
    /// Only if there is one.
    Member& only_member() const { return *members[is_first(members[0]) ? 0 : 1]; }
    bool is_first(const Member* member) const { return member && member->handler == hit.handlers; }
    void note_member(const Member* gone, Member* come) {
        for (Member*& member : members)
            if (member == gone) {
                member = come;
                return;
            }
    }
    /// No probe needs it any more.
    bool is_abandoned() const { return !has_probes() && !joining; }
    bool slides() const { return plan.may_jump() && plan.anchor != plan.site; }
    bool wants_jump() const { return state == State::Optimizing || state == State::Optimized; }
    /// The bytes that this site may ever change, without those of its springboard.
    Range region() const {
        return plan.may_jump() ? Range{plan.anchor, plan.anchor + plan.region.length}
                               : Range{address(), address() + 1};
    }
    /// The bytes of its springboard, whether it is in the text or not.
    Range planned_board() const {
        return has_board() ? Range{plan.board, plan.board + x86::kJumpLength} : Range{};
    }
    /// The springboard in the text.
    Range board() const {
        return board_entry ? Range{plan.board, plan.board + x86::kJumpLength} : Range{};
    }

    // The text in its forms. There may be hundreds of thousands of sites: none keeps them.

    x86::PatchSite breakpoint() const;
    /// Only if the plan may jump and the code is built: it has checked that the jump reaches.
    x86::PatchSite jump() const;
    /// The springboard that leads to `entry`, if the plan has one.
    x86::PatchSite board_to(u64 entry) const;
    x86::PatchSite written_board() const { return board_to(board_entry); }
    bool has_board() const { return plan.may_jump() && plan.tactic == x86::Tactic::Springboard; }
    u64 out_of_line() const { return code.slot.address() + code.layout.out_of_line; }
    u64 displaced() const { return code.slot.address() + code.layout.displaced; }
};

static_assert(sizeof(Site) <= DJK_SITE_SIZE);

/// Those that never rest keep whole pages: they have a room of their own.
template <>
struct Room<Site> {
    static void* take(Stay stay) { return djk_take(kind_of(stay)); }
    static void* attempt(Stay stay) { return djk_attempt(kind_of(stay)); }
    static void* insist(Stay stay) { return djk_insist(kind_of(stay)); }
    static void give_back(Site& site) {
        const djk_kind kind = kind_of(site.stay);
        site.~Site();
        djk_give_back(kind, &site);
    }

  private:
    static djk_kind kind_of(Stay stay) {
        return stay == Stay::Short ? DJK_SITES : DJK_LASTING_SITES;
    }
};

inline u64 ia_of(const Site& site) {
    return site.address();
}
inline Site*& next_near(Site& site) {
    return site.next_near;
}

/// An int3 or a jump of ours is in the text.
inline bool is_live(State state) {
    return state != State::Disarmed && state != State::Gone;
}

inline void set_state(Site& site, State state) {
    // Waiting tasks read it without the lock.
    __atomic_store(&site.state, &state, __ATOMIC_RELEASE);
}

inline void set_resume(Site& site, u64 address) {
    __atomic_store_n(&site.hit.trap.resume, address, __ATOMIC_RELEASE);
}

}  // namespace djprobe::kmod
