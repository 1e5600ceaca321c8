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
    probe.refused = refusal;
    refusal = Refusal{};
    return true;
}

/// The same for a whole request, which has no probe.
bool Registry::leave_out(const djp_attachment& attachment, djp_request& request,
                         const Refusal& refusal) {
    request.left_out = attachment.skip_refused && is_about_place(refusal.reason);
    return request.left_out;
}

/// Of a request's probes, which follow each other, all are left out or none. Under the registry
/// lock.
void Registry::leave_out_whole(const Targets& targets, Probes probes) {
    const auto follow = [&](size_t before, size_t i) {
        djp_probe& probe = *probes[i];
        if (targets[before].request != targets[i].request) return;
        if (!probes[before]->is_left_out() || probe.is_left_out()) return;
        djp_probe* const one[] = {&probe};
        take_back(one);
        probe.refused = probes[before]->refused;
    };
    for (size_t i = 1; i < probes.size(); ++i)
        follow(i - 1, i);
    for (size_t i = probes.size(); i > 1; --i)
        follow(i - 1, i - 2);
}

/// Free the probes that are left out, tell their requests why, and close the gaps. Returns how many
/// are left.
size_t Registry::drop_left_out(djp_attachment& attachment, const Targets& targets,
                               Span<djp_probe*> probes) {
    size_t kept = 0;
    for (size_t i = 0; i < probes.size(); ++i) {
        djp_probe* const probe = probes[i];
        djk_breathe();
        if (!probe->is_left_out()) {
            probes[kept++] = probe;
            continue;
        }
        djp_request& request = attachment.requests[targets[i].request];
        request.left_out = true;
        request.address = probe->address;
        tell(probe->refused, request);
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
