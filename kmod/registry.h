// SPDX-License-Identifier: GPL-2.0
// The registry: which sites exist, who probes them, and every transition between their states.
#pragma once

#include "code_writer.h"
#include "direct_call.h"
#include "facts.h"
#include "garbage.h"
#include "portions.h"
#include "quiescence_clock.h"
#include "site.h"
#include "text_port.h"

/// One attached probe: one handler at one address.
struct djp_probe {
    djprobe::kmod::Site* site =
        nullptr;  ///< nullptr: disabled, or refused when it was enabled again
    djk_probe* handler = nullptr;
    unsigned long address = 0;
    unsigned long cookie = 0;
    bool int3_only = false;
    bool at_return = false;
    bool enabled = true;            ///< itself; Registry::set_enabled() may still disable all
    bool linked = false;            ///< hits on its site run its handler
    unsigned long since = 0;        ///< of a request under way: as djp_request::since
    djprobe::u64 left = 0;          ///< the quiescence after which no hit stands on its handler
    djprobe::Refusal refused;       ///< why enabling it again failed
    djp_probe* next = nullptr;      ///< in the registry's list, or in the garbage
    djp_probe* previous = nullptr;  ///< in the registry's list
};

namespace djprobe::kmod {

using Probes = Span<djp_probe* const>;

/// A refusal, or that there is none, in a struct of the C side that says why.
template <class Answer>
void tell(const Refusal& refusal, Answer& answer) {
    answer.reason = static_cast<unsigned int>(refusal.reason);
    answer.detail[0] = refusal.detail[0];
    answer.detail[1] = refusal.detail[1];
}

/// All public members take the registry lock themselves, in portions where they do many things:
/// each portion leaves a state behind on which any other request may begin. See
/// docs/architecture.md for the transitions.
class Registry {
  public:
    /// A refusal: this kernel cannot be probed safely.
    Refusal start() { return analyst_.start(); }
    /// Every probe is detached and nobody else calls any more: wait and free all.
    void stop();

    /// The returns of the function that the request names; 0 with its reason set.
    size_t find_returns(djp_request& request, Array<u64>& returns);
    /// Where the return address of the function that the request names can be replaced; false with
    /// the request's reason set.
    bool find_shadow_entry(djp_request& request);
    /// Attach all or none. Returns their number, or the index of the one that is refused, with its
    /// reason set.
    size_t attach(Span<djp_request> requests, djp_probe** probes);
    void detach(Probes probes);
    /// Enable all or none. Returns their number, or the index of the one that is refused.
    size_t enable(Probes probes, Refusal& refusal);
    void disable(Probes probes);
    /// What attach() would decide; false when there is no such place.
    bool explain(djp_request& request, djp_verdict& verdict);
    void query(Probes probes, djp_status* statuses);
    void list(djp_status_visit visit, void* context);

    /// All probes at once; each keeps its own state besides. One caller at a time.
    void set_enabled(bool enabled);
    bool is_enabled() const { return enabled_; }
    /// Off: every site goes back to int3 and stays there. One caller at a time.
    void set_optimization(bool optimization);
    bool is_optimization_on() const { return optimization_; }

    /// The optimizer: jumps for all sites that may have one, and the end of what was detached, both
    /// behind one quiescence.
    void optimize();
    /// Leave text that is about to be freed but may still run, and forget the sites in it.
    void forget(Range text);

  private:
    // registry.cc
    Refusal make_probe(djp_request& request, Box<djp_probe>& made);
    size_t place_active(Span<djp_request> requests, Probes probes, Refusal& refusal);
    void return_to_sites(Probes probes, Portions& portions);
    void switch_off(Portions& portions);
    void switch_on(Portions& portions);
    Refusal locate(djp_request& request, u64& function_entry);
    template <class Look>
    Refusal look_into(djp_request& request, Look&& look);
    /// To be called before anything is found out about the place that the request names.
    void stamp(djp_request& request) const;
    /// What was found out may be of a module that has gone since, and another one lies there now.
    /// Under the registry lock, as long as it is held: no module goes meanwhile.
    bool is_stale(unsigned long since, u64 address) const;
    /// Without the lock: know who may land where, as all that analyses needs it.
    Refusal learn_landings();
    /// Wait, without the lock, which the caller holds.
    void quiesce();
    /// use(SiteList&) for all sites that `pick` chooses, a portion at a time.
    template <class Pick, class Use>
    void for_each_site(Portions& portions, Pick&& pick, Use&& use);
    void describe(const djp_probe& probe, djp_status& status) const;

    // placement.cc: probes onto sites and away from them
    size_t place(Probes probes, Portions& portions, Refusal& refusal);
    bool place_at_once(Probes probes, Refusal& refusal);
    bool join(Probes probes, Refusal& refusal, size_t& joined);
    bool arm_joined(Probes probes, Refusal& refusal, size_t& armed);
    void finish(djp_probe& probe);
    Refusal make_site(const djp_probe& probe, Box<Site>& made);
    bool is_free(const djp_probe& probe) const;
    void wait_until_free(Probes probes);
    Refusal check(const djp_probe& probe);
    Refusal find_or_make_site(djp_probe& probe);
    Refusal join(djp_probe& probe);
    void take_back(Probes probes);
    void leave(Probes probes);
    void let_go(Site& site, SiteList& empty);
    void discard(Site& site);

    // build_site.cc
    Shape wanted_shape(const Site& site, const djk_probe* joining);
    Refusal emit(const Site& site, const SiteCode& code, u64 address, Span<u8> out,
                 x86::DetourLayout& layout);
    Refusal build(const Site& site, SiteCode& code);
    void lead_to_code(Site& site);
    Refusal reshape(Site& site, const djk_probe* joining);

    // transition.cc
    Refusal hold_reason(const Site& site) const;
    Refusal settle(Site& site);
    void settle_near(Range range);
    Refusal make_way(KernelText& text, const SiteList& fresh, SiteList& yielding,
                     const Site*& refused);
    Refusal take_seats(SiteList& fresh, const Site*& refused);
    static void leave_seat(Site& site);
    Refusal arm(SiteList& fresh, const Site*& refused);
    void back_to_int3(KernelText& text, const SiteList& sites);
    void back_to_int3(KernelText& text, Site& site);
    void bypass_call(KernelText& text, Site& site);
    void retire(SiteList& sites);
    void leave_text(SiteList& sites);

    // optimizer.cc
    void give_up(Site& site, const Refusal& changed);
    void retry_obstructed(Portions& portions);
    bool prepare_batch(Portions& portions);
    void prepare(SiteList& waiting);
    void finish_batch(Portions& portions);
    void finish(SiteList& waiting);

    Analyst analyst_;
    SlotPool slots_;
    CodeWriter writer_;
    SiteTable sites_;
    DirectCalls calls_;
    QuiescenceClock clock_;
    Garbage garbage_;
    Garbage freeing_;  ///< what the optimizer waits to free
    Garbage stuck_;    ///< springboards that nobody is on, under somebody else's patch
    WalkedList<djp_probe> probes_;
    unsigned long unloads_ = 1;  // how many modules have gone, and one
    unsigned long switches_ = 0;  // how often all have been enabled or disabled
    bool enabled_ = true;
    bool optimization_ = true;
    /// Some site has a jump that should have gone, or held others back until it went.
    bool unsettled_ = false;
    bool obstructed_ = false;   ///< some site has given up, see retry_obstructed()
    bool just_failed_ = false;  ///< a site's last try has failed since the optimizer's last run
};

template <class Pick, class Use>
void Registry::for_each_site(Portions& portions, Pick&& pick, Use&& use) {
    WalkedList<Site>::Cursor cursor(sites_.all(), &Site::next);
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
