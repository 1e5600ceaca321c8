// SPDX-License-Identifier: GPL-2.0
// What the kernel says of its text.
#pragma once

#include "../arch/x86/patch.h"
#include "../arch/x86/reason.h"
#include "glue/kernel.h"

namespace djprobe::kmod {

/// The kernel's own text, without that of its modules.
inline Range core_text() {
    djk_extent text;
    djk_core_text_extent(&text);
    return {text.begin, text.end};
}

/// A kprobe of the kernel in `range`, which need not be in the text: enabled, it writes its int3,
/// and later what was there when it was registered, without another look.
inline Refusal find_kprobe(Range range) {
    for (u64 at = range.begin; at < range.end; ++at)
        if (djk_has_kprobe(at)) return Refusal{Reason::FOREIGN_PATCH, at};
    return {};
}

/// The same for one right before `range`, too, whose jump covers some of it, or will.
inline Refusal find_kprobe_over(Range range) {
    return find_kprobe({range.begin - (x86::kJumpLength - 1), range.end});
}

}  // namespace djprobe::kmod
