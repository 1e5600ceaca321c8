// SPDX-License-Identifier: GPL-2.0
// The functions djp_* of kernel.h, each one call of the registry.
#include "../../arch/x86/detour/action.h"
#include "registry.h"

namespace {

using djprobe::Refusal;
using djprobe::kmod::Box;
using djprobe::kmod::Registry;
using djprobe::kmod::Site;
using djprobe::kmod::State;
using djprobe::kmod::tell;

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

size_t djp_find_wrong_action(const djprobe_action* actions, size_t count) {
    return djprobe::x86::find_wrong_action({actions, count});
}

bool djp_attach(djp_attachment* attachment) {
    return registry->attach(*attachment);
}

bool djp_explain(djp_request* request, djp_verdict* verdict) {
    return registry->explain(*request, *verdict);
}

void djp_detach(djp_probe* const* probes, size_t count) {
    registry->detach({probes, count});
}

size_t djp_enable(djp_probe* const* probes, size_t count, djp_request* refused) {
    Refusal refusal;
    const size_t enabled = registry->enable({probes, count}, refusal);
    tell(refusal, *refused);
    return enabled;
}

void djp_disable(djp_probe* const* probes, size_t count) {
    registry->disable({probes, count});
}

void djp_query(djp_probe* const* probes, size_t count, djp_status* statuses) {
    registry->query({probes, count}, statuses);
}

const djk_handler* djp_handler(const djp_probe* probe) {
    return probe->handler;
}

void djp_list(djp_status_visit visit, void* context) {
    registry->list(visit, context);
}

bool djp_is_settled(const djp_probe* probe) {
    const Site* site = __atomic_load_n(&probe->site, __ATOMIC_ACQUIRE);
    if (!site) return true;
    State state;
    __atomic_load(&site->state, &state, __ATOMIC_ACQUIRE);
    return state != State::Optimizing;
}

void djp_set_enabled(bool enabled) {
    registry->set_enabled(enabled);
}

bool djp_is_enabled() {
    return registry->is_enabled();
}

bool djp_set_optimization(bool optimization) {
    return registry->set_optimization(optimization);
}

bool djp_is_optimization_on() {
    return registry->is_optimization_on();
}

bool djp_end_once() {
    return registry->end_once();
}

bool djp_keep_for_kprobes() {
    return registry->keep_for_kprobes();
}

void djp_optimizer_run() {
    registry->optimize();
}

void djp_module_gone(const djk_extent* text) {
    registry->forget({text->begin, text->end});
}
}
