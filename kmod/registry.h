// SPDX-License-Identifier: GPL-2.0
// The registry: which sites exist, who probes them, and every transition between their states.
#pragma once

#include "facts.h"
#include "site.h"
#include "text_port.h"

/// One attached probe: what a probe fd stands for.
struct djp_probe {
    djprobe::kmod::Site* site = nullptr;
    djk_probe* handler = nullptr;
    unsigned long cookie = 0;
    bool int3_only = false;
    djp_probe* next = nullptr;  ///< in the garbage
};

namespace djprobe::kmod {

/// What nobody can find any more, but what a CPU may still run or read.
class Garbage {
  public:
    void add(Site* site);
    void add(djp_probe* probe);
    bool empty() const { return !sites_ && !probes_; }
    /// Move everything out, so that what comes later waits for a quiescence of its own.
    Garbage take();
    /// Only after a quiescence that began after take().
    void free();

  private:
    Site* sites_ = nullptr;
    djp_probe* probes_ = nullptr;
};

/// All members take the registry lock themselves. See docs/architecture.md for the transitions.
class Registry {
  public:
    /// A refusal: this kernel cannot be probed safely.
    Refusal start() { return analyst_.start(); }
    /// Every probe is detached and nobody else calls any more: wait and free all.
    void stop();

    /// Attach a probe; nullptr with request.reason set, nothing changed.
    djp_probe* attach(djp_request& request);
    /// What attach() would decide; false when there is no such place.
    bool explain(djp_request& request, djp_verdict& verdict);
    void detach(djp_probe* probe);
    void query(const djp_probe& probe, djp_status& status);

    /// The optimizer: jumps for all sites that may have one, and the end of what was detached, both
    /// behind one quiescence.
    void optimize();
    /// Forget the sites in text that is about to be freed, without writing to it.
    void forget(Range text);

    /// Lock-free, any context.
    djk_trap* find_trap(u64 address) const {
        Trap* trap = sites_.find_trap(address);
        return trap ? &trap->hit : nullptr;
    }

  private:
    Refusal locate(djp_request& request, u64& function_entry);
    Refusal attach_at(const djp_request& request, djp_probe& probe);
    Refusal create_site(const djp_request& request, djp_probe& probe);
    Refusal hold_reason(const Site& site) const;
    Refusal make_way(KernelText& text, u64 address);
    Refusal settle(Site& site);
    void settle_all(Range range);
    Refusal build(Site& site);
    Refusal arm(Site& site);
    static Refusal prepare_patches(Site& site);
    void back_to_int3(KernelText& text, Site& site);
    void retire(Site& site);
    bool prepare_batch();
    void finish_batch();

    Analyst analyst_;
    SlotPool slots_;
    SiteTable sites_;
    Garbage garbage_;
};

}  // namespace djprobe::kmod
