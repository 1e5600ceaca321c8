// SPDX-License-Identifier: GPL-2.0
#include "patch.h"

#include "emit.h"

namespace djprobe::x86 {

PatchSite make_breakpoint_site(const Plan& plan) {
    PatchSite site;
    site.address = plan.site;
    site.length = 1;
    site.original[0] = plan.first_bytes[0];
    return site;
}

Refusal make_jump_site(const Plan& plan, u64 entry, PatchSite& out) {
    out = PatchSite{};
    out.address = plan.site;
    out.length = plan.region.length;
    for (u8 i = 0; i < out.length; ++i)
        out.original[i] = plan.region.bytes[i];
    Emitter jump({out.jump, out.length}, plan.site);
    jump.jump(entry);
    const bool reaches = jump.ok();
    // Nothing runs the rest, but whoever disassembles the function must be able to go on.
    while (jump.size() < out.length)
        jump.byte(kInt3);
    return reaches ? Refusal{} : Refusal{Reason::OUT_OF_REACH, plan.site};
}

}  // namespace djprobe::x86
