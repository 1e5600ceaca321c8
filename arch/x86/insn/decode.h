// SPDX-License-Identifier: GPL-2.0
// One instruction, reduced to what probing needs to know of it. Only decode.cc and effects.cc use
// Zydis.
#pragma once

#include "types.h"

namespace djprobe::x86 {

inline constexpr size_t kMaxInsnLength = 15;  ///< bytes; Intel SDM vol. 2, 2.3.11
inline constexpr u8 kInt3 = 0xcc;
inline constexpr size_t kJumpLength = 5;       ///< jmp rel32
inline constexpr size_t kShortJumpLength = 2;  ///< jmp rel8

/// What an instruction does to the flow of control, and with it whether it may be displaced.
enum class Kind : u8 {
    Plain,            ///< continues with its successor
    Nop,              ///< a nop of any length (endbr64 excluded)
    Jump,             ///< direct jmp
    CondJump,         ///< jcc
    CounterJump,      ///< loop, loope, loopne, jrcxz: only a short form exists
    Call,             ///< direct call
    IndirectJump,     ///< jmp through register or memory
    IndirectCall,     ///< call through register or memory
    Return,           ///< near ret
    Int3,             ///< the one-byte breakpoint; as padding: filler
    Trap,             ///< ud0/ud1/ud2, int n, int1
    Endbr,            ///< endbr64/endbr32
    InterruptShadow,  ///< sti, mov ss: delays interrupts until after its successor (SDM vol.
                      ///< 3, 6.8.3)
    SystemFlow,       ///< hlt, mwait, iret, sysret, syscall, far branches, vmlaunch, ...
    Transaction,      ///< xbegin, xabort, xend
};

/// A decoded instruction. Offsets count bytes from its first byte; 0 means "has none".
struct Insn {
    u64 address = 0;
    u64 target = 0;  ///< of a direct branch
    u64 taken = 0;   ///< a constant that may be an address of code: what a lea of a place or a long
                     ///< immediate yields
    Kind kind = Kind::Plain;
    u8 length = 0;
    u8 modrm_offset = 0;     ///< of the ModRM byte
    u8 rel_offset = 0;       ///< of a direct branch's displacement
    u8 rel_size = 0;         ///< 1, 4, or 2: xbegin with an operand-size prefix
    u8 rip_disp_offset = 0;  ///< of the disp32 of a RIP-relative operand
    u8 taken_offset = 0;     ///< of the 4 bytes (or the lower 4 of 8) that `taken` comes from
    bool immovable =
        false;  ///< its encoding means something else elsewhere (EIP-relative, 16-bit branch)
    bool stack_relative = false;  ///< its r/m operand is rsp or based on rsp

    constexpr u64 end() const { return address + length; }
    /// Control never reaches the next instruction.
    constexpr bool is_terminal() const {
        return kind == Kind::Jump || kind == Kind::IndirectJump || kind == Kind::Return;
    }
    constexpr bool is_call() const { return kind == Kind::Call || kind == Kind::IndirectCall; }
};

/// The first instructions of some code, decoded one by one as far as anyone has asked: see
/// know_more(). Not for several CPUs at a time.
struct KnownInsns {
    Span<Insn> room = {};
    size_t count = 0;  ///< of them

    constexpr Span<const Insn> all() const { return {room.data(), count}; }
};

/// xbegin's opcode, as the lower half of 4 bytes whose upper half is its displacement.
constexpr u16 kXbeginRel16 = 0xf8c7;

/// Where the 4 bytes at `field` lead if they are xbegin's opcode with 2 bytes of displacement, the
/// only branch that has so few; 0: they are not.
constexpr u64 xbegin_rel16_target(u64 field, i32 bytes) {
    return (bytes & 0xffff) == kXbeginRel16 ? field + 4 + static_cast<u64>(i64{bytes >> 16}) : 0;
}

/// Decode the instruction at `address`, whose bytes begin at bytes[0].
/// False when they are no valid 64-bit instruction or end within it. Pure, any context; about 0.5
/// KB of stack. Source: Intel SDM vol. 2, ch. 2 "Instruction Format"; AMD APM vol. 3, ch. 1.
[[nodiscard]] bool decode(Span<const u8> bytes, u64 address, Insn& out);
/// The same, without the short cut for common instructions (common.h).
[[nodiscard]] bool decode_any(Span<const u8> bytes, u64 address, Insn& out);

}  // namespace djprobe::x86
