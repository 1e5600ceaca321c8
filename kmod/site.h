// SPDX-License-Identifier: GPL-2.0
// Sites: their states, their code and their traps, and who may touch which part when.
#pragma once

#include "../arch/x86/detour/detour.h"
#include "../arch/x86/detour/patch.h"
#include "glue/kernel.h"
#include "slots.h"
#include "walked_list.h"

namespace djprobe::kmod {

/// The state of a site; the one truth about its text. Numbers are ABI (enum djprobe_state).
enum class State : u32 {
    Disarmed = 0,
    Armed = 1,
    Optimizing = 2,
    Optimized = 3,
    Unoptimizing = 4,
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

/// What the code of a site is made for.
struct Shape {
    const djk_probe* direct = nullptr;  ///< the detour calls this program itself, and nobody else
    unsigned int wants = 0;             ///< enum djk_wants: of any of its handlers
    bool operator==(const Shape&) const = default;
};

/// The code of a site and the text that leads to it.
struct SiteCode {
    Shape shape;
    x86::DetourLayout layout;
    Slot slot;
    x86::PatchSite jump;   ///< the jump, if the plan may jump
    x86::PatchSite board;  ///< the springboard, if the plan has one

    u64 entry() const { return slot.address() + layout.entry; }
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
    bool has_probes() const { return hit.probes != nullptr; }
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

/// Some sites, in a link of their own: a site is in one such list at most, and no list outlives a
/// pause of the registry lock.
class SiteList {
  public:
    SiteList() = default;
    SiteList(const SiteList&) = delete;
    SiteList& operator=(const SiteList&) = delete;

    void add(Site& site) {
        site.next_picked = nullptr;
        *tail_ = &site;
        tail_ = &site.next_picked;
    }
    Site* take_first() {
        Site* site = first_;
        if (!site) return nullptr;
        first_ = site->next_picked;
        if (!first_) tail_ = &first_;
        return site;
    }
    Site* first() const { return first_; }

    class Iterator {
      public:
        explicit Iterator(Site* site) : site_(site) {}
        Site& operator*() const { return *site_; }
        bool operator!=(const Iterator& other) const { return site_ != other.site_; }
        Iterator& operator++() {
            site_ = site_->next_picked;
            return *this;
        }

      private:
        Site* site_;
    };
    Iterator begin() const { return Iterator(first_); }
    Iterator end() const { return Iterator(nullptr); }

  private:
    Site* first_ = nullptr;
    Site** tail_ = &first_;
};

/// Every site, and who writes the table of traps. Under the registry lock.
class SiteTable {
  public:
    /// The site whose IA this is.
    Site* find(u64 address) const;
    void insert(Site& site);
    /// The site's traps may be found by hits that began before; free it after quiescence. Its
    /// springboard stays in the text until then, and in the table until forget_board().
    void remove(Site& site);
    /// The springboard is in the text no more, or the text is about to be freed.
    void forget_board(Site& site);
    /// Traps besides the IA's come and go with their int3: insert before it, remove after it and a
    /// core sync.
    void insert(djk_trap& trap);
    void remove(djk_trap& trap);
    /// All sites, newest first.
    Site* first() const { return list_.first(); }
    WalkedList<Site>& all() { return list_; }

    /// use(Site&) for every site that may own, change or have displaced a byte of `range`, and for
    /// some others nearby. `use` may not remove any.
    template <class Use>
    void for_each_near(Range range, Use&& use) const {
        for_each_in_lines(range, [&](Site& site) {
            if (!site.only_board) use(site);
        });
    }

    /// use(const Site&) for every removed site whose springboard is still in the text in `range`,
    /// and for some others nearby.
    template <class Use>
    void for_each_board_left(Range range, Use&& use) const {
        for_each_in_lines(range, [&](const Site& site) {
            if (site.only_board) use(site);
        });
    }

  private:
    template <class Use>
    void for_each_in_lines(Range range, Use&& use) const {
        const u64 last = line(range.end + x86::kTacticReach);
        for (u64 at = line(range.begin - x86::kTacticReach); at <= last; ++at)
            for (Site* site = lines_[at % kLines]; site; site = site->next_near)
                if (line(site->address()) == at) use(*site);
    }
    void leave_line(Site& site);

    // No tactic reaches farther than two lines.
    static constexpr size_t kLines = 4096;
    static constexpr u64 line(u64 address) { return address / 128; }

    Site* lines_[kLines] = {};
    WalkedList<Site> list_;
};

}  // namespace djprobe::kmod
