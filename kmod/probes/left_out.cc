// SPDX-License-Identifier: GPL-2.0
// A request among many is refused, and the others go on without it.
#include "registry.h"

namespace djprobe::kmod {
namespace {

/// Whether the place is at fault, and neither the machine nor the caller's end.
bool is_about_place(Reason reason) {
    return reason != Reason::NO_MEMORY && reason != Reason::INTERRUPTED;
}

}  // namespace

/// Leave an optional probe out, and take the refusal back. False: it is about all probes.
bool Registry::leave_out(djp_probe& probe, Refusal& refusal) {
    if (!probe.optional || !is_about_place(refusal.reason)) return false;
    probe.away.refused = refusal;
    refusal = Refusal{};
    return true;
}

/// The same for a whole request, which has no probe.
bool Registry::leave_out(const djp_attachment& attachment, djp_request& request,
                         const Refusal& refusal) {
    request.left_out = attachment.skip_refused && is_about_place(refusal.reason);
    return request.left_out;
}

/// Tell the requests that have a probe which is left out why, and leave out all their others. No
/// probe is refused from here on. `spare` has room for all that have sites.
void Registry::leave_out_whole(djp_attachment& attachment, const Targets& targets, Probes probes,
                               djp_probe** spare, Portions& portions) {
    const auto request_of = [&](size_t i) -> djp_request& {
        return attachment.requests[targets[i].request];
    };
    for (size_t i = 0; i < probes.size(); ++i) {
        djp_request& request = request_of(i);
        if (!probes[i]->is_left_out() || request.left_out) continue;
        request.left_out = true;
        request.address = probes[i]->address;
        tell(probes[i]->away.refused, request);
    }
    size_t placed = 0;
    for (size_t i = 0; i < probes.size(); ++i) {
        const djp_request& request = request_of(i);
        if (!request.left_out || probes[i]->is_left_out()) continue;
        probes[i]->away.refused = Refusal{static_cast<Reason>(request.reason)};
        if (probes[i]->site) spare[placed++] = probes[i];
    }
    portions.for_each(Probes(spare, placed), [&](Probes portion) {
        take_back(portion);
        return true;
    });
}

/// Free the probes that are left out, and close the gaps. Returns how many are left.
size_t Registry::drop_left_out(Span<djp_probe*> probes) {
    size_t kept = 0;
    for (djp_probe* const probe : probes) {
        djk_breathe();
        if (!probe->is_left_out()) {
            probes[kept++] = probe;
            continue;
        }
        djk_handler_destroy(probe->handler);
        Box<djp_probe>::adopt(probe).reset();
    }
    return kept;
}

/// No request is left: that is the first one's refusal.
void Registry::refuse_all(djp_attachment& attachment) {
    const djp_request& first = attachment.requests[0];
    attachment.failed = 0;
    tell(Refusal{static_cast<Reason>(first.reason), first.detail[0], first.detail[1]}, attachment);
}

}  // namespace djprobe::kmod
