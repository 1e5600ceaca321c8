// SPDX-License-Identifier: GPL-2.0
// What handlers read of the registers.
#pragma once

#include "../../arch/x86/insn/effects.h"

namespace djprobe::kmod {

/// Of what code may destroy once the kernel no longer needs it.
struct Reads {
    x86::RegisterSet registers = 0;  ///< of the caller-saved ones
    bool flags = false;

    bool operator==(const Reads&) const = default;
    explicit operator bool() const { return registers || flags; }
    Reads& operator|=(const Reads& other) {
        registers |= other.registers;
        flags |= other.flags;
        return *this;
    }
};

}  // namespace djprobe::kmod
