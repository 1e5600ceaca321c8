// SPDX-License-Identifier: GPL-2.0
#include "counter_operand.h"

namespace djprobe::x86 {
namespace {

constexpr u8 kNoBase = 5;

bool is_short(u32 displacement) {
    return displacement < 128;
}

/// The shortest that holds it; 0 needs none.
u8 mod_of(u32 displacement) {
    return displacement == 0 ? 0 : is_short(displacement) ? 1 : 2;
}

void write_displacement(u32 displacement, Emitter& out) {
    if (displacement == 0) return;
    is_short(displacement) ? out.byte(static_cast<u8>(displacement)) : out.imm32(displacement);
}

}  // namespace

void load_constant(u64 value, u8 reg, Emitter& out) {
    out.code(0x48 | (reg > 7), 0xb8 | (reg & 7));
    out.imm64(value);
}

void CounterOperand::write_far(u8 reg, u8 rm, Emitter& out) const {
    out.code(modrm(mod_of(displacement), reg, rm));
    write_displacement(displacement, out);
}

void CounterOperand::increment_slot(u8 slot, Emitter& out) const {
    constexpr u8 kTimes8 = 3;
    const u8 base = is_far ? address : kNoBase;
    out.code(kGs, rex(0, slot, base), 0xff, modrm(is_far ? mod_of(displacement) : 0, 0, kBySib),
             modrm(kTimes8, slot, base));
    is_far ? write_displacement(displacement, out) : out.imm32(displacement);
}

CounterOperand CounterBase::reach(i64 counter, Emitter& out) {
    if (!is_loaded_) {
        load_constant(static_cast<u64>(counter), reg_, out);
        is_loaded_ = true;
        loaded_ = counter;
    }
    return {true, reg_, static_cast<u32>(counter - loaded_)};
}

CounterOperand far_counter(i64 counter, u8 address, Emitter& out) {
    load_constant(static_cast<u64>(counter), address, out);
    return {true, address, 0};
}

}  // namespace djprobe::x86
