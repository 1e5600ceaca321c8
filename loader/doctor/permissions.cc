// SPDX-License-Identifier: GPL-2.0
#include <fmt/core.h>

#include "doctor/examine.h"
#include "kernel/lockdown.h"

namespace djprobe::loader::doctor {
namespace {

Finding examine_rights(const Machine& machine) {
    if (machine.rights().has(kToProbe) && machine.rights().in_initial_namespace)
        return {"rights", Health::Ok, "this process may attach"};
    return {"rights", Health::Bad, why_denied(kToProbe, machine.rights()),
            machine.rights().user == 0 ? "" : "sudo probeload ..."};
}

Finding examine_lockdown(const Machine& machine) {
    constexpr const char* kState = "/sys/kernel/security/lockdown";
    const auto state = machine.line(kState);
    if (!state)
        return {"lockdown", Health::Ok, "the kernel has none, or securityfs is not mounted"};
    if (is_confidential(machine.at(kState).c_str()))
        return {"lockdown", Health::Bad,
                "confidentiality: the kernel forbids all probes; boot with lockdown=integrity or "
                "without it"};
    return {
        "lockdown", Health::Ok,
        state->find("[integrity]") != state->npos ? "integrity: all but debugfs works" : "none"};
}

Finding examine_addresses(const Machine& machine) {
    const int restriction = kptr_restrict(machine.at("/proc/sys/kernel/kptr_restrict").c_str());
    if (restriction >= 2)
        return {"addresses", Health::Note,
                fmt::format("kernel.kptr_restrict is {}: explain, survey and patterns of functions "
                            "need addresses",
                            restriction),
                "sysctl kernel.kptr_restrict=1"};
    return {"addresses", Health::Ok, "the kernel shows them to those who may attach"};
}

}  // namespace

Findings examine_permissions(const Machine& machine) {
    return {examine_rights(machine), examine_lockdown(machine), examine_addresses(machine)};
}

}  // namespace djprobe::loader::doctor
