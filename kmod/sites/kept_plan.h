// SPDX-License-Identifier: GPL-2.0
// A plan without what its bytes tell: there may be hundreds of thousands.
#pragma once

#include "../../arch/x86/analysis/plan.h"

namespace djprobe::kmod {

/// What a site keeps of its x86::Plan, under the same names. The instructions are decoded again
/// where they are needed.
struct KeptPlan {
    struct Region {
        u8 count = 0, length = 0;
        /// An instruction leads elsewhere, or takes an address.
        bool leads = false;
        u8 bytes[x86::kMaxRegion] = {};
    };

    KeptPlan() = default;
    explicit KeptPlan(const x86::Plan& plan);

    bool may_jump() const { return !jump; }
    /// The probed instruction.
    x86::Insn first() const;
    /// All of the plan.
    x86::Plan expand() const;

    u64 site = 0, anchor = 0, board = 0;
    Refusal jump;
    u8 first_bytes[x86::kMaxInsnLength] = {};
    u8 first_length = 0;
    u8 board_bytes[x86::kJumpLength] = {};
    x86::Tactic tactic = x86::Tactic::Window;
    u8 before = 0;
    Region region;
};

}  // namespace djprobe::kmod
