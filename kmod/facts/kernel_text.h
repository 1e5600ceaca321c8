// SPDX-License-Identifier: GPL-2.0
// What the kernel says about its text: kprobes, and whether it stays.
#pragma once

#include "../../arch/x86/detour/patch.h"
#include "../../arch/x86/insn/reason.h"
#include "../glue/kernel.h"

namespace djprobe::kmod {

/// The core kernel's text, without that of modules.
inline Range core_text() {
    djk_extent text;
    djk_core_text_extent(&text);
    return {text.begin, text.end};
}

/// FOREIGN_PATCH: the kernel has a kprobe in `range`. It need not be in the text: when it is
/// enabled, the kernel writes an int3, and later the byte that it found at registration, without
/// another look.
inline Refusal find_kprobe(Range range) {
    for (u64 at = range.begin; at < range.end; ++at)
        if (djk_kprobe_at(at) != DJK_KPROBE_NONE) return Refusal{Reason::FOREIGN_PATCH, at};
    return {};
}

/// FOREIGN_PATCH: the jump of a kprobe right before `address` covers it, or soon will. A kprobe
/// that is no jump does not become one over bytes of ours: see djk_patch.
inline Refusal find_kprobe_jump_over(u64 address) {
    for (u64 at = address - (x86::kJumpLength - 1); at < address; ++at)
        if (djk_kprobe_at(at) == DJK_KPROBE_JUMP) return Refusal{Reason::FOREIGN_PATCH, at};
    return {};
}

/// Both of these: a kprobe of the kernel changes a byte of `range`, or may.
inline Refusal find_kprobe_over(Range range) {
    if (const Refusal before = find_kprobe_jump_over(range.begin)) return before;
    return find_kprobe(range);
}

/// Keep the text at `address` from being freed, until djk_unpin_target(); or say why that fails.
inline Refusal pin_target(u64 address) {
    if (djk_pin_target(address)) return {};
    const Refusal forbidden{static_cast<Reason>(djk_forbidden(address))};
    return forbidden ? forbidden : Refusal{Reason::MODULE_LEAVING};
}

}  // namespace djprobe::kmod
