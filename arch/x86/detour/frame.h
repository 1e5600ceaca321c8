// SPDX-License-Identifier: GPL-2.0
// What a detour puts on the stack: a record for unwinders and, for handlers, the registers.
#pragma once

#include "../insn/effects.h"
#include "emit.h"

namespace djprobe::x86 {

/// The kernel's struct pt_regs for x86-64, which a detour builds on the stack and hands to the
/// handler. Layout is kernel ABI (arch/x86/include/uapi/asm/ptrace.h).
struct Frame {
    u64 r15, r14, r13, r12, bp, bx;
    u64 r11, r10, r9, r8, ax, cx, dx, si, di;
    u64 orig_ax, ip, cs, flags, sp, ss;
};
static_assert(sizeof(Frame) == 168);

/// A set of the frame's fields: bit = offset / 8.
using FieldSet = u32;
inline constexpr FieldSet kAllFields = (1u << sizeof(Frame) / 8) - 1;
constexpr FieldSet field_bit(size_t offset) {
    return 1u << offset / 8;
}

/// What is the same in every frame of a detour.
struct FrameConstants {
    u64 ip = 0;  ///< the place that the frame is about
    u16 cs = 0;
    u16 ss = 0;
};

/// Push registers, and pop the same ones. Changes no flag.
void push_registers(RegisterSet registers, Emitter& out);
void pop_registers(RegisterSet registers, Emitter& out);

/// [ip + 1][rbp] below the stack, rbp on it: an unwinder that meets the detour, for which no ORC
/// data can exist, falls back to frame pointers and finds through rbp the caller's rbp, its exact
/// stack pointer, and ip + 1 as "return address" - which it looks up as ip.
void push_record(u64 ip, Emitter& out);
/// With the stack pointer on the record. Changes no flag, as nothing here does that pops.
void pop_record(Emitter& out);

/// A record and below it a whole frame. For all fields cheaper than store_fields().
void push_frame(const FrameConstants& constants, Emitter& out);
/// Every register but rsp from its frame at the stack pointer, the flags too.
void pop_frame(Emitter& out);
/// Every register, and continue where the frame says.
void resume_frame(Emitter& out);

/// With rbp on the record: room for a frame.
void reserve_frame(Emitter& out);
/// Into the reserved frame: `fields` as they are at the record, the flags as they still are.
/// May change rax, once it is stored if it is a field.
void store_fields(FieldSet fields, const FrameConstants& constants, Emitter& out);
/// From the frame below the record.
void load_registers(RegisterSet registers, Emitter& out);
void load_flags(Emitter& out);
/// The frame and the record.
void drop_frame(Emitter& out);

/// The fields of general registers.
FieldSet fields_of(RegisterSet registers);
/// And back: the general registers among the fields.
RegisterSet registers_of(FieldSet fields);
inline constexpr FieldSet kFlagsField = field_bit(__builtin_offsetof(Frame, flags));

}  // namespace djprobe::x86
