// SPDX-License-Identifier: GPL-2.0
// A handler for detours under test, as hostile as the contract allows.
#pragma once

#include "arch/x86/detour/detour.h"

namespace djprobe::test {

/// What the handler saw.
struct Hit {
    u64 count = 0;  ///< hits since reset; the rest is of the last one
    x86::Frame frame = {};
    u64 frame_address = 0;
    u64 argument = 0;
    u64 flags = 0;     ///< at the handler's entry
    u64 saved_bp = 0;  ///< what the frame record at rbp holds
    u64 return_address = 0;
    u64 record_address = 0;
};

/// Records the hit, then overwrites every caller-saved general register and the arithmetic flags.
u64 handler_address();
Hit& last_hit();
/// What the handler changes of the frame, and whether it returns true; null: nothing, anything.
using Edit = bool (*)(x86::Frame& frame, u64 argument);
void set_edit(Edit edit);

/// What Bench::detour_config() passes.
inline constexpr u64 kArgument = 0x1122334455667788;
inline constexpr u16 kCs = 0x33;
inline constexpr u16 kSs = 0x2b;

}  // namespace djprobe::test
