// SPDX-License-Identifier: GPL-2.0
#include "increment.h"

namespace djprobe::x86 {

void increment_per_cpu(const CounterOperand& counter, Emitter& out) {
    counter.write(0, out, 0xff);
}

void increment_per_cpu(i64 counter, u8 address, Emitter& out) {
    const bool is_near = fits_i32(counter);
    increment_per_cpu(is_near ? near_counter(counter) : far_counter(counter, address, out), out);
}

}  // namespace djprobe::x86
