// SPDX-License-Identifier: GPL-2.0
// The registry: which sites exist, who probes them, and every transition between their states.
#pragma once

#include "code_writer.h"
#include "direct_call.h"
#include "facts.h"
#include "garbage.h"
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

/// All public members take the registry lock themselves. See docs/architecture.md for the
/// transitions.
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

    /// All probes at once; each keeps its own state besides.
    void set_enabled(bool enabled);
    bool is_enabled() const { return enabled_; }
    /// Off: every site goes back to int3 and stays there.
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
    bool try_set_enabled(bool enabled);
    void switch_off();
    void switch_on();
    Refusal locate(djp_request& request, u64& function_entry);
    template <class Look>
    Refusal look_into(djp_request& request, Look&& look);
    /// To be called before anything is found out about the place that the request names.
    void stamp(djp_request& request) const;
    /// What was found out may be of a module that has gone since, and another one lies there now.
    /// Under the registry lock, as long as it is held: no module goes meanwhile.
    bool is_stale(const djp_request& request) const;
    void keep(djp_probe& probe);
    /// Wait, without the lock.
    void quiesce();
    void describe(const djp_probe& probe, djp_status& status) const;

    // placement.cc: probes onto sites and away from them
    size_t place(Probes probes, Refusal& refusal);
    size_t place_pinned(Probes probes, Refusal& refusal);
    Refusal make_site(const djp_probe& probe, Box<Site>& made);
    void clear_boards_near(u64 address);
    Refusal analyse(u64 address, x86::Plan& plan);
    Refusal find_or_make_site(djp_probe& probe, SiteList& fresh);
    void take_back(Probes probes, SiteList& fresh);
    void leave(Probes probes);

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
    void leave_text(Range text);

    // optimizer.cc
    void give_up(Site& site, const Refusal& changed);
    void retry_obstructed();
    bool prepare_batch();
    void finish_batch();

    Analyst analyst_;
    SlotPool slots_;
    CodeWriter writer_;
    SiteTable sites_;
    DirectCalls calls_;
    QuiescenceClock clock_;
    Garbage garbage_;
    Garbage freeing_;  ///< what the optimizer waits to free
    Garbage stuck_;    ///< springboards that nobody is on, under somebody else's patch
    djp_probe* probes_ = nullptr;
    unsigned long unloads_ = 1;  // how many modules have gone, and one
    bool enabled_ = true;
    u64 all_left_ = 0;  ///< when it last became false: as djp_probe::left
    bool optimization_ = true;
    /// Some site has a jump that should have gone, or held others back until it went.
    bool unsettled_ = false;
    bool obstructed_ = false;  ///< some site has given up, see retry_obstructed()
};

}  // namespace djprobe::kmod
