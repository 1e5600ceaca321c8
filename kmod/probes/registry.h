// SPDX-License-Identifier: GPL-2.0
// The registry: all probes, and every request about them.
#pragma once

#include "probe.h"
#include "targets.h"

namespace djprobe::kmod {

using Probes = Span<djp_probe* const>;

/// Write a refusal, or that there is none, into a struct of the C side.
template <class Answer>
void tell(const Refusal& refusal, Answer& answer) {
    answer.reason = static_cast<unsigned int>(refusal.reason);
    answer.detail[0] = refusal.detail[0];
    answer.detail[1] = refusal.detail[1];
}

/// Owns the probes, and the three other owners. All public functions may sleep and take the
/// registry lock themselves, except the two that read a switch. A long request takes it in
/// portions, each of which leaves a state behind from which any other request can begin.
/// docs/architecture.md shows the transitions.
///
/// djp_* in glue/kernel.h has the contract of each request.
class Registry {
  public:
    /// Once, before all else. A refusal: this kernel cannot be probed safely.
    Refusal start() { return analyst_.start(); }
    /// Wait for a quiescence and free all. Every probe is detached, and no other request comes.
    void stop();

    /// Attach all or none. False: the attachment says why.
    bool attach(djp_attachment& attachment);
    /// Cannot fail. The handlers may still run until a quiescence.
    void detach(Probes probes);
    /// Enable all or none. Returns their number, or the index of the probe that is refused.
    size_t enable(Probes probes, Refusal& refusal);
    /// Cannot fail. The handlers may still run until a quiescence.
    void disable(Probes probes);
    /// Say what attach() would decide. False: there is no such place.
    bool explain(djp_request& request, djp_verdict& verdict);
    /// Describe these probes as they are at one moment.
    void query(Probes probes, djp_status* statuses);
    /// Calls visit() for all probes, newest first, until it says false.
    void list(djp_status_visit visit, void* context);

    /// Take all probes out of the text, or bring them back. Each keeps its own state besides; one
    /// that cannot come back keeps its refusal. One caller at a time.
    void set_enabled(bool enabled);
    bool is_enabled() const { return enabled_; }
    /// Off: every site goes back to int3 and stays there. One caller at a time. False: memory is
    /// too short for that.
    bool set_optimization(bool optimization);
    bool is_optimization_on() const { return sites_.is_optimization_on(); }

    /// The worker's turn: write the jumps of all sites that may have one, and free what was
    /// detached. One quiescence serves both.
    void optimize();
    /// Disable the probes that were to count once and have. Whether there are more of them.
    bool end_once();
    /// See Sites::keep_for_kprobes().
    bool keep_for_kprobes();
    /// The kernel is about to free this text, which may still run: take the sites out of it.
    void forget(Range text);

  private:
    // find_targets.cc: from names to addresses
    Refusal find_targets(djp_request& request, size_t index, Targets& targets);
    Refusal find_returns(u64 function, Target target, Targets& targets);
    template <class Look>
    Refusal look_into(u64 function, Look&& look);

    // attach.cc: from addresses to probes
    static Refusal make_probe(const djp_request& request, const Target& target,
                              djk_handler* handler, bool optional, djp_probe*& made);
    static Refusal make_probes(djp_attachment& attachment, const Targets& targets,
                               Array<djp_probe*>& probes, size_t& made);
    size_t check_places(Probes probes, Portions& portions, Refusal& refusal);
    void keep(djp_attachment& attachment, const Targets& targets, Probes probes,
              Portions& portions);
    size_t place_active(djp_attachment& attachment, const Targets& targets, Probes probes,
                        Refusal& refusal);
    static void refuse(djp_attachment& attachment, const Targets& targets, size_t index,
                       const Refusal& refusal);

    // left_out.cc: what goes on without a request that is refused
    static bool leave_out(djp_probe& probe, Refusal& refusal);
    static bool leave_out(const djp_attachment& attachment, djp_request& request,
                          const Refusal& refusal);
    void leave_out_whole(djp_attachment& attachment, const Targets& targets, Probes probes,
                         djp_probe** spare, Portions& portions);
    static size_t drop_left_out(Span<djp_probe*> probes);
    static void refuse_all(djp_attachment& attachment);

    // registry.cc
    /// The index of a probe that is among them.
    static size_t index_of(const djp_probe* probe, Probes probes);
    void return_to_sites(Probes probes, Portions& portions);
    void for_each_probe_in(Range text, Portions& portions, FunctionRef<void(djp_probe&)> act);
    void forget_text(Range text);
    /// Facts that were found at `since` are about a module that has gone, or may be: another one
    /// may lie there now. Under the registry lock; the answer holds as long as the lock is held.
    bool is_stale(unsigned long since, u64 address) const;
    /// Build the index of landings, which every analysis needs, if there is none. The caller does
    /// not hold the registry lock.
    Refusal learn_landings();

    // switching.cc: all probes at once
    using Walk = WalkedList<djp_probe>::Cursor;
    struct Returning;
    Returning take_returning(const Portions& portions, Walk& walk, size_t most) const;
    template <class Choose>
    void leave_where(Portions& portions, Choose&& choose);
    void switch_off(Portions& portions);
    void switch_on(Portions& portions);

    // report.cc
    Refusal explain_target(const Target& target, djp_verdict& verdict);
    void describe(const djp_probe& probe, djp_status& status) const;

    // placement.cc: probes get onto sites and away from them
    size_t place(Probes probes, Portions& portions, Refusal& refusal);
    bool place_at_once(Probes probes, Refusal& refusal);
    bool join(Probes probes, Refusal& refusal, size_t& joined);
    bool arm_joined(Probes probes, Refusal& refusal, size_t& armed);
    void finish(djp_probe& probe);
    bool is_free(const djp_probe& probe) const;
    void wait_until_free(Probes probes);
    Refusal check(const djp_probe& probe);
    Refusal join(djp_probe& probe);
    void take_back(Probes probes);
    void leave(Probes probes);

    Analyst analyst_;
    CodeBuilder code_{analyst_.machine()};
    SiteTable table_;
    Reclaimer reclaimer_{table_};
    Sites sites_{table_, analyst_, code_, reclaimer_};
    WalkedList<djp_probe> probes_;
    static constexpr size_t kUnloads = 16;
    Range unloaded_[kUnloads] = {};  // the text of the modules that have unloaded last
    unsigned long unloads_ = 1;  // counts modules that have unloaded, from 1 on: 0 means "no check"
    unsigned long switches_ = 0;  // counts calls of set_enabled() that changed something
    bool enabled_ = true;
};

}  // namespace djprobe::kmod
