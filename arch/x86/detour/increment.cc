// SPDX-License-Identifier: GPL-2.0
#include "increment.h"

namespace djprobe::x86 {

void load_constant(u64 value, u8 reg, Emitter& out) {
    out.code(0x48 | (reg > 7), 0xb8 | (reg & 7));
    out.imm64(value);
}

void increment_per_cpu(i64 counter, u8 address, Emitter& out) {
    if (fits_i32(counter)) {
        out.code(0x65, 0x48, 0xff, 0x04, 0x25);  // incq %gs:counter
        out.imm32(static_cast<u32>(counter));
        return;
    }
    load_constant(static_cast<u64>(counter), address, out);
    out.code(0x65, 0x48 | (address > 7), 0xff, address & 7);  // incq %gs:(address)
}

}  // namespace djprobe::x86
