// SPDX-License-Identifier: GPL-2.0
// The registry: who probes what, and every request.
#pragma once

#include "probe.h"
#include "targets.h"

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

    /// Attach all or none; false: see the attachment.
    bool attach(djp_attachment& attachment);
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
    bool is_optimization_on() const { return sites_.is_optimization_on(); }

    /// The optimizer: jumps for all sites that may have one, and the end of what was detached, both
    /// behind one quiescence.
    void optimize();
    /// Leave text that is about to be freed but may still run, and forget the sites in it.
    void forget(Range text);

  private:
    // targets.cc: from what a caller names to addresses
    Refusal find_targets(djp_request& request, size_t index, Targets& targets);
    Refusal find_returns(u64 function, Target target, Targets& targets);
    template <class Look>
    Refusal look_into(u64 function, Look&& look);

    // attach.cc
    static Refusal make_probe(const djp_request& request, const Target& target,
                              djk_handler* handler, djp_probe*& made);
    static Refusal make_probes(djp_attachment& attachment, const Targets& targets,
                               Array<djp_probe*>& probes, size_t& made);
    size_t place_active(djp_attachment& attachment, const Targets& targets, Probes probes,
                        Refusal& refusal);
    static void refuse(djp_attachment& attachment, const Targets& targets, size_t index,
                       const Refusal& refusal);

    // registry.cc
    /// Of one that is among them.
    static size_t index_of(const djp_probe* probe, Probes probes);
    void return_to_sites(Probes probes, Portions& portions);
    /// What was found out is of a module that has gone since, or may be: another one may lie there
    /// now. Under the registry lock, as long as it is held: no module goes meanwhile.
    bool is_stale(unsigned long since, u64 address) const;
    /// Without the lock: know who may land where, as all that analyses needs it.
    Refusal learn_landings();

    // switching.cc: all probes at once
    void switch_off(Portions& portions);
    void switch_on(Portions& portions);

    // report.cc
    Refusal explain_target(const Target& target, djp_verdict& verdict);
    void describe(const djp_probe& probe, djp_status& status) const;

    // placement.cc: probes onto sites and away from them
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
    Range unloaded_[kUnloads] = {};  // the text of the last ones that have gone
    unsigned long unloads_ = 1;      // how many have, and one
    unsigned long switches_ = 0;     // how often all have been enabled or disabled
    bool enabled_ = true;
};

}  // namespace djprobe::kmod
