// SPDX-License-Identifier: GPL-2.0
// The sites: which exist, in which state, and every transition of their text.
#pragma once

#include "../border/portions.h"
#include "../code/code_builder.h"
#include "../facts/analyst.h"
#include "reclaimer.h"
#include "site_list.h"

namespace djprobe::kmod {

/// A probe as its site sees it.
struct Member {
    u64 address;
    djk_handler* handler;
    bool int3_only;
};

/// Owns every site's state and text. Under the registry lock, which portions give to others. See
/// docs/architecture.md for the transitions.
///
/// A member joins its site, the site is armed, the member is linked: from then on hits run its
/// handler. A joined member that is not linked takes back what its joining has done.
class Sites {
  public:
    Sites(SiteTable& table, Analyst& analyst, CodeBuilder& code, Reclaimer& reclaimer)
        : table_(table), analyst_(analyst), code_(code), reclaimer_(reclaimer) {}

    /// At the beginning of each portion: programs may have gone while others had the lock.
    void begin_portion() { code_.forget_programs(); }

    // membership.cc
    /// The site for `member`, an existing one or a new one, which is Disarmed. Its text changes
    /// only where a jump must go. A new site's code is there after flush().
    Refusal join(const Member& member, Site*& site);
    /// Before the lock is given to others, who may arm the new sites.
    void flush() { code_.flush(); }
    /// Hits run the handler from now on. False: the site's text has been given back meanwhile.
    bool link(Site& site, const Member& member);
    /// Undo join() for a member that is not linked. A site that no member needs goes to `empty`.
    void take_back(Site& site, const Member& member, SiteList& empty);
    /// Hits that begin from now on do not run the handler. `empty` as above.
    void unlink(Site& site, const Member& member, SiteList& empty);
    /// What a plan for a place would be: the plan of the site that is there, or a new one.
    Refusal plan_for(u64 address, x86::Plan& plan);

    // transitions.cc
    /// Arm the Disarmed ones of `count` sites (nullptr: none there), all or none. `refused` is the
    /// index of the one that could not.
    Refusal arm(size_t count, FunctionRef<Site*(size_t)> site_at, size_t& refused);

    // retire.cc
    /// Give back the text of `empty` sites. What another patcher has written over stays, and is
    /// tried again.
    void retire(SiteList& empty);
    /// Leave text that is about to be freed but may still run, and forget the sites in it.
    void forget(Range text, Portions& portions);

    // optimizer.cc
    /// Jumps for all sites that may have one, and the end of what was detached, both behind one
    /// quiescence.
    void optimize(Portions& portions);
    /// Off: every site goes back to int3 and stays there.
    void set_optimization(bool optimization, Portions& portions);
    [[nodiscard]] bool is_optimization_on() const { return optimization_; }

  private:
    Refusal make_site(const Member& member, Box<Site>& made);
    Refusal find_or_make_site(const Member& member, Site*& site);
    void let_go(Site& site, SiteList& empty);
    Shape wanted_shape(const Site& site, const djk_handler* joining);
    void lead_to_code(Site& site);
    Refusal reshape(Site& site, const djk_handler* joining);

    Refusal hold_reason(const Site& site) const;
    Refusal settle(Site& site);
    void settle_near(Range range);
    Refusal make_way(KernelText& text, const SiteList& fresh, SiteList& yielding,
                     const Site*& refused);
    static Refusal take_seats(SiteList& fresh, const Site*& refused);
    static void leave_seat(Site& site);
    Refusal arm(SiteList& fresh, const Site*& refused);
    void back_to_int3(KernelText& text, const SiteList& sites);
    void back_to_int3(KernelText& text, Site& site);

    void bypass_call(KernelText& text, Site& site);
    void leave_text(SiteList& sites);

    void give_up(Site& site, const Refusal& changed);
    void retry_obstructed(Portions& portions);
    bool prepare_batch(Portions& portions);
    void prepare(SiteList& waiting);
    void finish_batch(Portions& portions);
    void finish(SiteList& waiting);

    /// use(SiteList&) for all sites that `pick` chooses, a portion at a time.
    template <class Pick, class Use>
    void for_each_site(Portions& portions, Pick&& pick, Use&& use);

    SiteTable& table_;
    Analyst& analyst_;
    CodeBuilder& code_;
    Reclaimer& reclaimer_;
    bool optimization_ = true;
    /// Some site has a jump that should have gone, or held others back until it went.
    bool unsettled_ = false;
    bool obstructed_ = false;   ///< some site has given up, see retry_obstructed()
    bool just_failed_ = false;  ///< a site's last try has failed since the optimizer's last run
};

template <class Pick, class Use>
void Sites::for_each_site(Portions& portions, Pick&& pick, Use&& use) {
    WalkedList<Site>::Cursor cursor(table_.all(), &Site::next);
    for (;;) {
        SiteList some;
        portions.take(cursor, portions.size(), [&](Site& site) {
            const bool picked = pick(site);
            if (picked) some.add(site);
            return picked;
        });
        if (some.first()) use(some);
        if (cursor.at_end()) return;
        portions.pause();
    }
}

}  // namespace djprobe::kmod
