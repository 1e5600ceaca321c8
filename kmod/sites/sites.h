// SPDX-License-Identifier: GPL-2.0
// The sites: which ones exist, in which state, and every transition of their text.
#pragma once

#include "../border/portions.h"
#include "../code/code_builder.h"
#include "../facts/analyst.h"
#include "readers.h"
#include "reclaimer.h"
#include "site_list.h"

namespace djprobe::kmod {

/// Owns every site's state and text. Under the registry lock, which functions that take Portions
/// give to others in between. All may sleep and take the text lock. docs/architecture.md shows the
/// transitions.
///
/// A member joins its site, the site is armed, the member is linked: from then on hits run its
/// handler. A member that has joined and cannot be linked must take that back.
///
/// A site with a jump that only counts may come to rest between two portions: see resting.cc. Wake
/// it before all else.
class Sites {
  public:
    Sites(SiteTable& table, Analyst& analyst, CodeBuilder& code, Reclaimer& reclaimer)
        : table_(table), analyst_(analyst), code_(code), reclaimer_(reclaimer) {}

    /// Call this at the beginning of each portion: while others had the lock, programs may have
    /// been freed, and functions forbidden.
    void begin_portion() {
        code_.forget_programs();
        analyst_.forget_allowed();
    }

    // resting.cc
    /// Let the sites of these members be there again, if they rest. member_at() says which, for
    /// each number below `count`. Cannot fail: it waits for memory.
    void wake(size_t count, FunctionRef<Member&(size_t)> member_at);

    // membership.cc
    /// Finds the site for `member`, or makes a new one, which is Disarmed. The text changes only
    /// where a jump must give way. A new site's code is in its slot after flush(). On a refusal the
    /// member has not joined: the analyst's, MODULE_LEAVING, FOREIGN_PATCH, NO_MEMORY,
    /// POST_AT_BRANCH.
    Refusal join(const Member& member, Site*& site);
    /// Call this before others get the lock, because they may arm the new sites.
    void flush() { code_.flush(); }
    /// Hits run the handler from now on. False: the site has left the text meanwhile.
    bool link(Site& site, Member& member);
    /// Undo join() for a member that is not linked. A site that no member needs, and whose text
    /// must be given back, goes to `empty`.
    void take_back(Site& site, const Member& member, SiteList& empty);
    /// Hits that begin from now on do not run the handler; it is free of hits after a quiescence.
    /// `empty` is as above.
    void unlink(Site& site, const Member& member, SiteList& empty);
    /// The plan of the site at an address or, where there is none, the plan that it would get.
    Refusal plan_for(u64 address, x86::Plan& plan);

    // transitions.cc
    /// Arm those of `count` sites that are Disarmed, all or none; site_at() may say nullptr. On a
    /// refusal `refused` is the index of the site at fault.
    Refusal arm(size_t count, FunctionRef<Site*(size_t)> site_at, size_t& refused);

    // retire.cc
    /// Give back the text of sites that no member needs. A site that another patcher has written
    /// over stays without handlers, and the optimizer tries again.
    void retire(SiteList& empty);
    /// Leave text that the kernel is about to free but may still run, and forget the sites in it.
    void forget(Range text, Portions& portions);

    // kprobe_readers.cc
    /// Let detours keep all that the handlers of kprobes which the kernel has registered since may
    /// read. Whether memory ran short: call it again.
    bool keep_for_kprobes(Portions& portions);

    // optimizer.cc
    /// Write the jumps of all sites that may have one, and free what was detached. One quiescence
    /// serves both; others have the lock meanwhile.
    void optimize(Portions& portions);
    /// Off: every site goes back to int3 and stays there. Each takes more memory then: false when
    /// that is short, and jumps stay on.
    bool set_optimization(bool optimization, Portions& portions);
    [[nodiscard]] bool is_optimization_on() const { return optimization_; }

  private:
    Refusal make_site(const Member& member, Box<Site>& made);
    Refusal find_or_make_site(const Member& member, Site*& site);
    void let_go(Site& site, SiteList& empty);

    [[nodiscard]] bool may_rest(const Site& site);
    void rest(SiteList& sites);
    void rest_all(Portions& portions);
    void begin_waking(Member& member, Box<Site>&& fresh, SiteList& waking);
    void finish_waking(SiteList& waking);
    void wake_in(Range range);
    Site* find_awake(u64 address);
    bool wake_all(Portions& portions);

    Shape wanted_shape(const Site& site, const djk_handler* joining);
    void lead_to_code(Site& site);
    Refusal reshape(Site& site, const djk_handler* joining);
    void reshape_without(Site& site);

    bool is_at_return(const Site& site) const;
    Reads reads_of(const Site& site, const djk_handler* joining);
    Reads kept_besides(const x86::Live& live, u64 address) const;
    Refusal reshape_or_later(Site& site);
    Refusal reshape_home(Range home, u64 reader);
    void reshape_left(Portions& portions);
    Refusal add_reader(Site& site);
    Refusal keep_what_is_read(Site& site, const djk_handler* joining);
    void forget_reader(Site& site);

    void forget_kprobes(Portions& portions, FunctionRef<bool(const Readers::Reader&)> is_gone);
    void forget_kprobes(Portions& portions);
    Array<u64> list_kprobes();
    Array<u64> take_new_kprobes();
    bool may_destroy_registers(Range home) const;
    Refusal keep_for_kprobe(u64 address);

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

    void bypass_held(KernelText& text, Site& site);
    void leave_text(SiteList& sites);

    void give_up(Site& site, const Refusal& changed);
    void retry_obstructed(Portions& portions);
    bool prepare_batch(Portions& portions);
    void prepare(SiteList& waiting);
    void finish_batch(Portions& portions);
    void finish(SiteList& waiting);

    /// Calls use(SiteList&) for all sites that `pick` chooses, a portion at a time.
    template <class Pick, class Use>
    void for_each_site(Portions& portions, Pick&& pick, Use&& use);

    SiteTable& table_;
    Analyst& analyst_;
    CodeBuilder& code_;
    Reclaimer& reclaimer_;
    Readers readers_;
    Readers kprobe_readers_;       ///< the kernel's kprobes that came after detours around them
    bool missed_kprobes_ = false;  ///< some that have come were not looked at
    bool optimization_ = true;
    /// A site has a jump that should have gone, or had one that held others back.
    bool unsettled_ = false;
    bool unshaped_ = false;     ///< a site's code is not what its handlers and readers want
    bool obstructed_ = false;   ///< a site has given up, see retry_obstructed()
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
