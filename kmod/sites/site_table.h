// SPDX-License-Identifier: GPL-2.0
// Every site: by its address, by what lies near it, and in order.
#pragma once

#include "../border/memory.h"
#include "../border/walked_list.h"
#include "../facts/own_text.h"
#include "site.h"

namespace djprobe::kmod {

/// Every site. Only this class writes the table of traps. Under the registry lock.
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

    void restore(FunctionCopy& copy) const override;
    void for_each_board(Range range, FunctionRef<void(Range)> use) const override;
    void for_each_displaced(Range text, FunctionRef<void(const x86::Insn&)> use) const override;

  private:
    template <class Use>
    void for_each_in_lines(Range range, Use&& use) const {
        const u64 last = line(range.end + x86::kTacticReach);
        for (u64 at = line(range.begin - x86::kTacticReach); at <= last; ++at)
            for (Site* site = lines_[at % line_count_]; site; site = site->next_near)
                if (line(site->address()) == at) use(*site);
    }
    void enter_line(Site& site);
    void leave_line(Site& site);
    void add_lines();

    // No tactic reaches farther than two lines.
    static constexpr u64 line(u64 address) { return address / 128; }

    // Powers of two: lists of lines, which many lines share.
    static constexpr size_t kFewLines = 4096;
    static constexpr size_t kMostLines = 1 << 18;
    Site* few_lines_[kFewLines] = {};
    Array<Site*> more_lines_;  ///< instead of these, once there are many sites
    Site** lines_ = few_lines_;
    size_t line_count_ = kFewLines;
    size_t site_count_ = 0;
    WalkedList<Site> list_;
};

}  // namespace djprobe::kmod
