// SPDX-License-Identifier: GPL-2.0
// The requests about attached probes: detach, enable, disable. The events that the kernel brings: a
// module unloads, the worker runs.
#include "registry.h"

#include "../facts/kernel_text.h"

namespace djprobe::kmod {
namespace {

/// Free a detached probe, whose handler no CPU runs any more.
void free_probe(Discarded& self) {
    constexpr size_t kOffset =
        __builtin_offsetof(Member, away) + __builtin_offsetof(Away, discarded);
    auto* const member = reinterpret_cast<Member*>(reinterpret_cast<char*>(&self) - kOffset);
    auto& probe = static_cast<djp_probe&>(*member);
    djk_handler_destroy(probe.handler);
    Box<djp_probe>::adopt(&probe).reset();
}

}  // namespace

size_t Registry::index_of(const djp_probe* probe, Probes probes) {
    for (size_t i = 0; i < probes.size(); ++i)
        if (probes[i] == probe) return i;
    return 0;
}

void Registry::stop() {
    djk_give_up_seats();
    djk_quiesce();
    RegistryLock lock;
    reclaimer_.stop();
}

bool Registry::is_stale(unsigned long since, u64 address) const {
    if (!since || core_text().contains(address)) return false;
    if (unloads_ - since > kUnloads) return true;
    for (unsigned long at = since; at < unloads_; ++at)
        if (unloaded_[at % kUnloads].contains(address)) return true;
    return false;
}

Refusal Registry::learn_landings() {
    {
        RegistryLock lock;
        if (analyst_.knows_landings()) return {};
    }
    // This takes seconds, so it is done without the lock. Of requests that do it at the same time
    // the first one's index is kept.
    LandingIndex index;
    const Refusal refusal = index.build();
    RegistryLock lock;
    analyst_.set_landings(static_cast<LandingIndex&&>(index));
    // Without an index sites still work, at int3.
    return refusal.reason == Reason::NO_INDEX ? Refusal{} : refusal;
}

void Registry::detach(Probes probes) {
    RegistryLock lock;
    Portions portions;
    portions.for_each(probes, [&](Probes portion) {
        leave(portion);
        for (djp_probe* probe : portion) {
            probes_.remove(*probe);
            probe->away.discarded.free = free_probe;
            reclaimer_.add(probe->away.discarded);
        }
        return true;
    });
}

size_t Registry::enable(Probes probes, Refusal& refusal) {
    Array<djp_probe*> off(probes.size());
    refusal = off ? learn_landings() : Refusal{Reason::NO_MEMORY};
    if (refusal) return 0;
    RegistryLock lock;
    const unsigned long switches = switches_;
    size_t count = 0;
    for (size_t i = 0; i < probes.size(); ++i) {
        // A probe that could not come back when all were switched on is enabled but has no site.
        if (probes[i]->enabled && (probes[i]->has_site() || !enabled_)) continue;
        if (probes[i]->away.refused.reason == Reason::MODULE_GONE) {
            refusal = probes[i]->away.refused;
            return i;
        }
        off[count++] = probes[i];
    }
    Portions portions;
    const size_t placed = place({off.data(), count}, portions, refusal);
    if (refusal) {
        const size_t refused = index_of(off[placed], probes);
        if (switches != switches_) return_to_sites({off.data(), count}, portions);
        return refused;
    }
    portions.for_each(Probes{off.data(), count}, [&](Probes portion) {
        sites_.begin_portion();
        for (djp_probe* probe : portion) {
            finish(*probe);
            probe->enabled = true;
        }
        return true;
    });
    return probes.size();
}

/// A group is refused, but some of its probes are enabled: set_enabled() came between two portions
/// and left them to the group. Bring these back.
void Registry::return_to_sites(Probes probes, Portions& portions) {
    portions.for_each(probes, [&](Probes portion) {
        sites_.begin_portion();
        for (djp_probe* probe : portion)
            if (probe->enabled) finish(*probe);
        return true;
    });
}

void Registry::disable(Probes probes) {
    RegistryLock lock;
    Portions portions;
    portions.for_each(probes, [&](Probes portion) {
        leave(portion);
        for (djp_probe* probe : portion)
            probe->enabled = false;
        return true;
    });
}

void Registry::optimize() {
    RegistryLock lock;
    Portions portions;
    sites_.optimize(portions);
}

bool Registry::keep_for_kprobes() {
    RegistryLock lock;
    Portions portions;
    return sites_.keep_for_kprobes(portions);
}

bool Registry::set_optimization(bool optimization) {
    RegistryLock lock;
    if (optimization == sites_.is_optimization_on()) return true;
    Portions portions;
    return sites_.set_optimization(optimization, portions);
}

void Registry::forget(Range text) {
    forget_text(text);
    // The next module that the kernel loads there must not find a kprobe of ours.
    djk_give_up_seats();
}

void Registry::for_each_probe_in(Range text, Portions& portions,
                                 FunctionRef<void(djp_probe&)> act) {
    WalkedList<djp_probe>::Cursor cursor(probes_, &djp_probe::next);
    while (!cursor.at_end()) {
        portions.take(cursor, portions.size(), [&](djp_probe& probe) {
            if (text.contains(probe.address)) act(probe);
            return false;
        });
        if (!cursor.at_end()) portions.pause();
    }
}

void Registry::forget_text(Range text) {
    RegistryLock lock;
    // The kernel refuses to pin a module that unloads: no site comes to this text any more.
    unloaded_[unloads_ % kUnloads] = text;
    __atomic_store_n(&unloads_, unloads_ + 1, __ATOMIC_RELEASE);
    analyst_.forget(text);
    Portions portions;
    for_each_probe_in(text, portions, [](djp_probe& probe) {
        if (probe.linked) probe.keep_skipped();
    });
    sites_.forget(text, portions);
    // A disabled probe must not come back in the next module that the kernel loads there.
    for_each_probe_in(text, portions, [](djp_probe& probe) {
        if (!probe.rests) probe.away.refused = Refusal{Reason::MODULE_GONE};
    });
    djk_optimizer_kick();
}

}  // namespace djprobe::kmod
