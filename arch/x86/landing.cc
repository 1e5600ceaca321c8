// SPDX-License-Identifier: GPL-2.0
#include "landing.h"

#include "scan.h"

namespace djprobe::x86 {

void LandingMap::add_long_branches(const Code& code) {
    find_long_branches(code, text_, [this](u64, u64 target) {
        add(target);
        return true;
    });
}

void LandingMap::add_pointers(Span<const u64> words) {
    for (const u64 word : words)
        add(word);
}

bool LandingMap::any(Range targets) const {
    for (u64 target = targets.begin; target < targets.end; ++target) {
        if (!text_.contains(target)) continue;
        const u64 bit = target - text_.begin;
        if (bits_[bit / 8] & 1u << bit % 8) return true;
    }
    return false;
}

Refusal find_long_arrival(const Code& function, u64 field, u64 target) {
    Refusal found;
    const Refusal scan = for_each_insn(function, field + 1, [&](const Insn& insn) {
        if (insn.rel_size == 4 && insn.target == target && insn.address + insn.rel_offset == field)
            found = Refusal{Reason::BRANCH_INTO_REGION, insn.address};
        if (insn.taken_offset && insn.taken == target && insn.address + insn.taken_offset == field)
            found = Refusal{Reason::POINTER_INTO_REGION, insn.address};
        return !found;
    });
    return scan ? Refusal{Reason::BRANCH_INTO_REGION, field} : found;
}

}  // namespace djprobe::x86
