// SPDX-License-Identifier: GPL-2.0
// Attaching: find the targets, make the probes, place them.
#include "../facts/kernel_text.h"
#include "registry.h"

namespace djprobe::kmod {

/// Make the probe of one target, which is on no site yet.
Refusal Registry::make_probe(const djp_request& request, const Target& target, djk_handler* handler,
                             bool optional, djp_probe*& made) {
    Box<djp_probe> probe = Box<djp_probe>::create();
    if (!probe) return Refusal{Reason::NO_MEMORY};
    probe->optional = optional;
    // The analysis asks, too. Here it must be known before the module is pinned, which says less.
    Refusal refusal;
    if (!core_text().contains(target.address))
        refusal = Refusal{static_cast<Reason>(djk_forbidden(target.address))};
    if (!refusal && !djk_handler_may_be_at(handler, target.address, target.at_entry))
        refusal = Refusal{Reason::PROG_OVERRIDE};
    if (refusal && !leave_out(*probe, refusal)) return refusal;
    probe->handler = handler;
    probe->address = target.address;
    probe->cookie = request.cookie;
    probe->int3_only = request.int3_only;
    probe->once = request.once;
    probe->at_return = target.at_return;
    probe->is_further = target.is_further;
    probe->enabled = !request.disabled;
    probe->away.since = target.since;
    djk_handler_set_function(handler, target.function);
    made = probe.release();
    return {};
}

/// Make the probes of all targets; `made` counts them. A refusal that no target is at fault for
/// sets attachment.reason.
Refusal Registry::make_probes(djp_attachment& attachment, const Targets& targets,
                              Array<djp_probe*>& probes, size_t& made) {
    for (; made < targets.count(); ++made) {
        const Target& target = targets[made];
        djp_request& request = attachment.requests[target.request];
        if (djk_is_dying()) {
            tell(Refusal{Reason::INTERRUPTED}, attachment);
            return Refusal{Reason::INTERRUPTED};
        }
        djk_handler* const handler = djk_make_handler(request.source, &request);
        if (!handler) {
            const Refusal refusal{static_cast<Reason>(request.reason), request.detail[0],
                                  request.detail[1]};
            tell(refusal, attachment);
            return refusal;
        }
        if (const Refusal refusal =
                make_probe(request, target, handler, attachment.skip_refused, probes[made])) {
            djk_handler_destroy(handler);
            return refusal;
        }
        djk_breathe();
    }
    return {};
}

/// The index of a probe for whose place no site can be made, with the refusal, or their number:
/// of those whose module may have gone, and of those that are registered as disabled.
size_t Registry::check_places(Probes probes, Portions& portions, Refusal& refusal) {
    for (size_t i = 0; i < probes.size(); ++i) {
        if (!is_stale(probes[i]->away.since, probes[i]->address)) continue;
        refusal = Refusal{Reason::MODULE_LEAVING};
        if (!leave_out(*probes[i], refusal)) return i;
    }
    size_t checked = 0;
    portions.for_each(probes, [&](Probes portion) {
        for (djp_probe* probe : portion) {
            if (!probe->enabled && !probe->is_left_out()) refusal = check(*probe);
            if (refusal && !leave_out(*probe, refusal)) return false;
            ++checked;
        }
        return true;
    });
    return checked;
}

/// Nothing is undone from here on. Handlers run from now on, each from its own portion on.
void Registry::keep(djp_attachment& attachment, const Targets& targets, Probes probes,
                    Portions& portions) {
    portions.for_each(probes, [&](Probes portion) {
        sites_.begin_portion();
        for (djp_probe* const& at : portion) {
            djp_probe& probe = *at;
            if (probe.is_left_out()) continue;
            // From here on it is refused like any other, when it is to be enabled again.
            probe.optional = false;
            if (probe.enabled) finish(probe);
            // It must not come back in the next module that the kernel loads there.
            if (!probe.linked && is_stale(probe.away.since, probe.address))
                probe.away.refused = Refusal{Reason::MODULE_GONE};
            probe.away.since = 0;
            probes_.add(probe);
            // The request says why its probe stays at int3; of several returns, the first one.
            djp_request& request = attachment.requests[targets[&at - probes.begin()].request];
            if (!request.reason)
                tell(probe.site ? probe.site->hold : Refusal{Reason::DISABLED}, request);
        }
        return true;
    });
}

/// Place the probes and keep them, but leave those that are registered as disabled away from the
/// text. All or none: returns their number, or the index of the one that is refused.
size_t Registry::place_active(djp_attachment& attachment, const Targets& targets, Probes probes,
                              Refusal& refusal) {
    Array<djp_probe*> active(probes.size());
    refusal = active ? learn_landings() : Refusal{Reason::NO_MEMORY};
    if (refusal) return 0;
    size_t count = 0;
    for (djp_probe* probe : probes)
        if (probe->enabled) active[count++] = probe;
    RegistryLock lock;
    Portions portions;
    const size_t checked = check_places(probes, portions, refusal);
    if (refusal) return checked;
    const size_t placed = place({active.data(), count}, portions, refusal);
    if (refusal) return index_of(active[placed], probes);
    leave_out_whole(attachment, targets, probes, active.data(), portions);
    keep(attachment, targets, probes, portions);
    return probes.size();
}

/// Tell the caller that the target at `index` is refused.
void Registry::refuse(djp_attachment& attachment, const Targets& targets, size_t index,
                      const Refusal& refusal) {
    attachment.failed = targets[index].request;
    djp_request& request = attachment.requests[attachment.failed];
    request.address = targets[index].address;
    tell(refusal, request);
    tell(refusal, attachment);
}

bool Registry::attach(djp_attachment& attachment) {
    Targets targets;
    for (size_t i = 0; i < attachment.count; ++i) {
        djp_request& request = attachment.requests[i];
        const Refusal refusal =
            djk_is_dying() ? Refusal{Reason::INTERRUPTED} : find_targets(request, i, targets);
        tell(refusal, request);
        if (refusal && !leave_out(attachment, request, refusal)) {
            attachment.failed = i;
            tell(refusal, attachment);
            return false;
        }
        djk_breathe();
    }
    if (!targets.count()) {
        refuse_all(attachment);
        return false;
    }
    attachment.failed = attachment.count;
    Array<djp_probe*> probes(targets.count());
    size_t made = 0;
    Refusal refusal = probes ? Refusal{} : Refusal{Reason::NO_MEMORY};
    if (refusal)
        tell(refusal, attachment);
    else
        refusal = make_probes(attachment, targets, probes, made);
    if (refusal) {
        if (!attachment.reason) refuse(attachment, targets, made, refusal);
    } else {
        const size_t placed = place_active(attachment, targets, {probes.data(), made}, refusal);
        if (refusal) refuse(attachment, targets, placed, refusal);
    }
    if (!refusal) {
        attachment.probe_count = drop_left_out(probes.all());
        if (!attachment.probe_count) {
            refuse_all(attachment);
            return false;
        }
        attachment.probes = probes.release();
        return true;
    }
    for (size_t i = 0; i < made; ++i) {
        djk_handler_destroy(probes[i]->handler);
        Box<djp_probe>::adopt(probes[i]).reset();
        djk_breathe();
    }
    return false;
}

}  // namespace djprobe::kmod
