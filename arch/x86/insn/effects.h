// SPDX-License-Identifier: GPL-2.0
// What one instruction does to general registers and flags.
#pragma once

#include "decode.h"

namespace djprobe::x86 {

/// A set of general registers: bit = register number (rax 0, rcx 1, rdx 2, rbx 3, rsp 4, ...).
using RegisterSet = u16;

constexpr RegisterSet register_bit(u8 number) {
    return static_cast<RegisterSet>(1u << number);
}

/// Not by a builtin: without the instruction for it that would be a call of a library.
constexpr size_t count_of(RegisterSet registers) {
    size_t count = 0;
    for (; registers; registers &= static_cast<RegisterSet>(registers - 1))
        ++count;
    return count;
}

inline constexpr u8 kRax = 0, kRcx = 1, kRdx = 2, kRsi = 6, kRdi = 7;
inline constexpr RegisterSet kAllRegisters = 0xffff;
/// rax rcx rdx rsi rdi r8 r9 r10 r11: what a C function may change (System V ABI for
/// x86-64, 3.2.1).
inline constexpr RegisterSet kCallerSaved = 0x0fc7;

/// Status flags, by their bits in RFLAGS (Intel SDM vol. 1, 3.4.3): CF PF AF ZF SF OF.
inline constexpr u16 kStatusFlags = 0x08d5;

/// The default says that nothing is known.
struct Effects {
    RegisterSet reads = kAllRegisters;
    RegisterSet writes = kAllRegisters;  ///< may change at least a part of
    RegisterSet kills = 0;               ///< replaces as a whole, whatever it was
    u16 flags_read = kStatusFlags;
    u16 flags_killed = 0;      ///< of the status flags: replaces, whatever they were
    bool system_flags = true;  ///< may change AC or DF
};

/// The effects of a decoded instruction, whose bytes begin at bytes[0]. Registers that address
/// memory count as read, and so do implicit operands. A call's effects are those of its operand,
/// not of the callee. An instruction that leaves the flow of control has the default: nothing is
/// known. Pure; about 1.5 KB of stack. Source: Intel SDM vol. 2, the instructions' "Operation" and
/// "Flags Affected", as Zydis' tables hold them; where vendors differ, what holds on all.
Effects find_effects(const Insn& insn, Span<const u8> bytes);

/// Whether the instruction reads the `size` bytes at `displacement` from a general register, by
/// that register and without an index, whatever else holds. So they can be read right before it
/// without a fault that it would not have itself. Instructions that only write, or are not known to
/// use their whole operand, and fs and gs, are a no.
bool reads_memory(Span<const u8> bytes, u8 base, i32 displacement, u32 size);

/// Remembers effects by the bytes of the instruction, on which alone they depend: the same few
/// hundred make most of a kernel. Not for several CPUs at a time.
class EffectsMemo {
  public:
    /// What find_effects() says.
    Effects find(const Insn& insn, Span<const u8> bytes);

  private:
    static constexpr size_t kLongest = 8, kBits = 12;
    struct Entry {
        u64 bytes = 0;
        u8 length = 0;  ///< 0: none
        Effects effects;
    };
    Entry entries_[size_t{1} << kBits];
};

}  // namespace djprobe::x86
