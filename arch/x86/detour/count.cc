// SPDX-License-Identifier: GPL-2.0
#include "count.h"

#include "frame.h"

namespace djprobe::x86 {
namespace {

constexpr RegisterSet kRaxOnly = register_bit(kRax);

/// The first register of a set that has one.
u8 first_of(RegisterSet registers) {
    return static_cast<u8>(__builtin_ctz(registers));
}

}  // namespace

void increment_per_cpu(i64 counter, u8 address, Emitter& out) {
    if (fits_i32(counter)) {
        out.code(0x65, 0x48, 0xff, 0x04, 0x25);  // incq %gs:counter
        out.imm32(static_cast<u32>(counter));
        return;
    }
    const u8 high = address > 7 ? 1 : 0;
    out.code(0x48 | high, 0xb8 | (address & 7));  // movabs $counter, address
    out.imm64(static_cast<u64>(counter));
    out.code(0x65, 0x48 | high, 0xff, address & 7);  // incq %gs:(address)
}

/// In rax, unless both rax and another register would have to be pushed for that.
Count::Flags Count::choose_flags(const CountConfig& config, const Live& live) {
    if (!live.flags) return Flags::Dead;
    const bool any_dead = (kCallerSaved & ~live.registers) != 0;
    return config.lahf && (fits_i32(config.counter) || any_dead) ? Flags::InRax : Flags::Pushed;
}

Count::Count(const CountConfig& config, const Live& live)
    : counter_(config.counter), flags_(choose_flags(config, live)) {
    RegisterSet changed = flags_ == Flags::InRax ? kRaxOnly : 0;
    const auto rest = static_cast<RegisterSet>(kCallerSaved & ~changed);
    const auto dead = static_cast<RegisterSet>(rest & ~live.registers);
    address_ = first_of(dead ? dead : rest);
    if (!fits_i32(counter_)) changed |= register_bit(address_);
    pushed_ = changed & live.registers;
}

/// The overflow flag is none of those that lahf stores.
void Count::save_flags(Emitter& out) const {
    if (flags_ == Flags::InRax) out.code(0x9f, 0x0f, 0x90, 0xc0);  // lahf; seto %al
    if (flags_ == Flags::Pushed) out.code(0x9c);                   // pushf
}

void Count::restore_flags(Emitter& out) const {
    if (flags_ == Flags::InRax) out.code(0x04, 0x7f, 0x9e);  // add $0x7f, %al: overflows if 1; sahf
    if (flags_ == Flags::Pushed) out.code(0x9d);             // popf
}

void Count::emit(Emitter& out) {
    push_registers(pushed_, out);
    save_flags(out);
    handler_ = out.size();
    increment_per_cpu(counter_, address_, out);
    after_ = out.size();
    restore_flags(out);
    pop_registers(pushed_, out);
}

}  // namespace djprobe::x86
