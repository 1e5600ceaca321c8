// SPDX-License-Identifier: GPL-2.0
// Every site: by its address, by what lies near it, and in order.
#pragma once

#include "../border/memory.h"
#include "../border/walked_list.h"
#include "../facts/own_text.h"
#include "near_lines.h"
#include "site.h"

namespace djprobe::kmod {

/// Every site, and the members of those that rest. Only this class writes the table of traps. Under
/// the registry lock.
class SiteTable final : public OwnText {
  public:
    SiteTable() = default;
    SiteTable(const SiteTable&) = delete;
    SiteTable& operator=(const SiteTable&) = delete;

    /// The site whose IA this is, or nullptr.
    Site* find(u64 address) const;
    void insert(Site& site);
    /// Hits that began before may still find the site's traps: free the site after a quiescence.
    /// Its springboard stays in the text until then, and in the table until forget_board(). A
    /// bypass stays, too, since its int3 is in the site's own code.
    void remove(Site& site);
    /// The springboard is no longer in the text, or the kernel is about to free that text.
    void forget_board(Site& site);
    /// The traps of anchors and bypasses come and go with their int3: insert them before it is
    /// written, remove them after it has gone and the cores have synced.
    void insert(djk_trap& trap);
    void remove(djk_trap& trap);
    /// All sites, newest first.
    Site* first() const { return list_.first(); }
    WalkedList<Site>& all() { return list_; }

    /// Calls use(Site&) for every site that may own, change or have displaced a byte of `range`,
    /// and for some others nearby. `use` must not remove any.
    template <class Use>
    void for_each_near(Range range, Use&& use) const {
        for_each_in_lines(range, [&](Site& site) {
            if (!site.only_board) use(site);
        });
    }

    /// Calls use(const Site&) for every removed site whose springboard is still in the text in
    /// `range`, and for some others nearby.
    template <class Use>
    void for_each_board_left(Range range, Use&& use) const {
        for_each_in_lines(range, [&](const Site& site) {
            if (site.only_board) use(site);
        });
    }

    /// The site of this member rests from now on, or does so no longer.
    void insert_resting(Member& member) { resting_.enter(member); }
    void remove_resting(Member& member) { resting_.leave(member); }
    /// The member whose site rests with its IA at the address, or nullptr.
    const Member* find_resting(u64 address) const {
        const Member* found = nullptr;
        for_each_resting({address, address + 1}, [&](const Member& member) {
            if (member.address == address) found = &member;
        });
        return found;
    }
    /// Calls use(Member&) for every member whose site rests with a byte of `range` in its region.
    /// `use` must not remove any.
    template <class Use>
    void for_each_resting(Range range, Use&& use) const {
        constexpr u64 kReach = RestingSite::kMostBytes;
        resting_.for_each({range.begin - kReach, range.end + kReach}, [&](Member& member) {
            if (member.resting.region().overlaps(range)) use(member);
        });
    }
    size_t count_resting() const { return resting_.count(); }
    /// Calls use(Member&) for those in the lists from number `list` on, until it says false. `list`
    /// is then where to go on, once those that were used are removed.
    template <class Use>
    void for_resting_from(size_t& list, Use&& use) const {
        resting_.for_all_from(list, use);
    }

    void restore(FunctionCopy& copy) const override;
    void for_each_board(Range range, FunctionRef<void(Range)> use) const override;
    void for_each_displaced(Range text, FunctionRef<void(const x86::Insn&)> use) const override;

  private:
    template <class Use>
    void for_each_in_lines(Range range, Use&& use) const {
        near_.for_each({range.begin - x86::kTacticReach, range.end + x86::kTacticReach}, use);
    }

    NearLines<Site> near_;
    NearLines<Member> resting_;
    WalkedList<Site> list_;
};

}  // namespace djprobe::kmod
