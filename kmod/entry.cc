// SPDX-License-Identifier: GPL-2.0
// The policy's face to the C side: djp_* of kernel.h.
#include "registry.h"

namespace {

using djprobe::Refusal;
using djprobe::kmod::Box;
using djprobe::kmod::Registry;
using djprobe::kmod::State;

// A plain pointer: a static object with a destructor would need a static constructor's machinery.
constinit Registry* registry = nullptr;

}  // namespace

extern "C" {

int djp_start() {
    Box<Registry> box = Box<Registry>::create();
    if (!box) return DJPROBE_REASON_NO_MEMORY;
    if (const Refusal refusal = box->start()) return static_cast<int>(refusal.reason);
    __atomic_store_n(&registry, box.release(), __ATOMIC_RELEASE);
    return 0;
}

void djp_stop() {
    registry->stop();
    Box<Registry>::adopt(registry).reset();
    registry = nullptr;
}

djp_probe* djp_attach(djp_request* request) {
    return registry->attach(*request);
}

bool djp_explain(djp_request* request, djp_verdict* verdict) {
    return registry->explain(*request, *verdict);
}

void djp_detach(djp_probe* probe) {
    registry->detach(probe);
}

void djp_query(const djp_probe* probe, djp_status* status) {
    registry->query(*probe, *status);
}

bool djp_is_settled(const djp_probe* probe) {
    return __atomic_load_n(&probe->site->state, __ATOMIC_ACQUIRE) != State::Optimizing;
}

void djp_optimizer_run() {
    registry->optimize();
}

void djp_module_gone(const djk_extent* text) {
    registry->forget({text->begin, text->end});
}

djk_trap* djp_find_trap(unsigned long address) {
    const Registry* live = __atomic_load_n(&registry, __ATOMIC_ACQUIRE);
    return live ? live->find_trap(address) : nullptr;
}
}
