// SPDX-License-Identifier: GPL-2.0
// How instructions reach counters that are near %gs or far from it.
#pragma once

#include "emit.h"
#include "encoding.h"

namespace djprobe::x86 {

/// `movabs $value, reg`.
void load_constant(u64 value, u8 reg, Emitter& out);

/// A counter as an operand: %gs:displacement, or %gs:displacement(address).
struct CounterOperand {
    bool is_far = false;
    u8 address = 0;  ///< none of rsp, rbp, r12 and r13, which are encoded otherwise
    u32 displacement = 0;

    /// `opcode reg, %gs:counter`, with 64 bits.
    template <class... Opcode>
    void write(u8 reg, Emitter& out, Opcode... opcode) const {
        out.code(kGs, rex(reg, 0, address), opcode...);
        if (is_far) return write_far(reg, address, out);
        out.code(modrm(0, reg, kBySib), 0x25);
        out.imm32(displacement);
    }
    /// incq %gs:counter(,slot,8)
    void increment_slot(u8 slot, Emitter& out) const;
    CounterOperand next() const { return {is_far, address, displacement + u32{sizeof(u64)}}; }

  private:
    void write_far(u8 reg, u8 rm, Emitter& out) const;
};

/// Far counters of one list lie beside each other. A register that holds where one of them is
/// reaches all, and is loaded once.
class CounterBase {
  public:
    CounterBase() = default;  ///< no register is free for it
    explicit CounterBase(u8 reg) : is_there_(true), reg_(reg) {}

    /// Whether reach() needs no register beside it.
    bool reaches(i64 counter) const {
        return is_there_ && (!is_loaded_ || fits_i32(counter - loaded_));
    }
    /// Whether code that is not always run may use it.
    bool is_loaded_for(i64 counter) const { return is_loaded_ && reaches(counter); }
    /// Of a far counter. Loads the register the first time: all that uses it later runs after this.
    CounterOperand reach(i64 counter, Emitter& out);

  private:
    bool is_there_ = false, is_loaded_ = false;
    u8 reg_ = 0;
    i64 loaded_ = 0;
};

/// Of a counter that a displacement from %gs reaches.
inline CounterOperand near_counter(i64 counter) {
    return {false, 0, static_cast<u32>(counter)};
}
/// Of a far counter: loads `address` with it.
CounterOperand far_counter(i64 counter, u8 address, Emitter& out);

}  // namespace djprobe::x86
