// SPDX-License-Identifier: GPL-2.0
#include "far_arrivals.h"

#include "../insn/scan.h"

namespace djprobe::x86 {

Refusal find_long_arrival(const Code& function, u64 field, u64 target) {
    Refusal found;
    const Refusal scan = for_each_insn(function, field + 1, [&](const Insn& insn) {
        if (insn.target == target && long_branch_field(insn) == field)
            found = Refusal{Reason::BRANCH_INTO_REGION, insn.address};
        if (insn.taken_offset && insn.taken == target && insn.address + insn.taken_offset == field)
            found = Refusal{Reason::POINTER_INTO_REGION, insn.address};
        return !found;
    });
    return scan ? Refusal{Reason::BRANCH_INTO_REGION, field} : found;
}

}  // namespace djprobe::x86
