// SPDX-License-Identifier: GPL-2.0
#include "frame.h"

namespace djprobe::x86 {
namespace {

constexpr u8 offset_of_sp = __builtin_offsetof(Frame, sp);
constexpr u8 offset_of_orig_ax = __builtin_offsetof(Frame, orig_ax);
constexpr u8 kRecord = 16;
static_assert(offset_of_sp == 19 * 8 && offset_of_orig_ax == 15 * 8,
              "push_frame pushes the fields in this order");

constexpr u8 kBp = 5, kSp = 4;

/// Offset of each general register's field, by the register's number.
constexpr u8 kFieldOf[16] = {
    __builtin_offsetof(Frame, ax),  __builtin_offsetof(Frame, cx),  __builtin_offsetof(Frame, dx),
    __builtin_offsetof(Frame, bx),  __builtin_offsetof(Frame, sp),  __builtin_offsetof(Frame, bp),
    __builtin_offsetof(Frame, si),  __builtin_offsetof(Frame, di),  __builtin_offsetof(Frame, r8),
    __builtin_offsetof(Frame, r9),  __builtin_offsetof(Frame, r10), __builtin_offsetof(Frame, r11),
    __builtin_offsetof(Frame, r12), __builtin_offsetof(Frame, r13), __builtin_offsetof(Frame, r14),
    __builtin_offsetof(Frame, r15),
};

constexpr bool has(FieldSet fields, size_t offset) {
    return (fields & field_bit(offset)) != 0;
}

/// ModRM and displacement of a field, addressed by rbp, which lies right above the frame.
void field_operand(u8 reg, size_t offset, Emitter& out) {
    const int distance = static_cast<int>(offset) - static_cast<int>(sizeof(Frame));
    const bool near = distance >= -128;
    out.code((near ? 0x45 : 0x85) | (reg & 7) << 3);
    near ? out.byte(static_cast<u8>(distance)) : out.imm32(static_cast<u32>(distance));
}

/// movq between a register and a field.
void move(u8 opcode, u8 reg, size_t offset, Emitter& out) {
    out.code(reg > 7 ? 0x4c : 0x48, opcode);
    field_operand(reg, offset, out);
}
void store(u8 reg, size_t offset, Emitter& out) {
    move(0x89, reg, offset, out);
}

void store_constant(u64 value, size_t offset, Emitter& out) {
    const bool whole = fits_i32(static_cast<i64>(value));
    if (whole) out.byte(0x48);
    out.byte(0xc7);
    field_operand(0, offset, out);
    out.imm32(static_cast<u32>(value));
    if (whole) return;
    out.byte(0xc7);
    field_operand(0, offset + 4, out);
    out.imm32(static_cast<u32>(value >> 32));
}

void pop_all_registers(Emitter& out) {
    out.code(0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c);  // pop r15 r14 r13 r12
    out.code(0x5d, 0x5b);                                      // pop bp bx
    out.code(0x41, 0x5b, 0x41, 0x5a, 0x41, 0x59, 0x41, 0x58);  // pop r11 r10 r9 r8
    out.code(0x58, 0x59, 0x5a, 0x5e, 0x5f);                    // pop ax cx dx si di
}

}  // namespace

void push_registers(RegisterSet registers, Emitter& out) {
    for (u8 reg = 0; reg < 16; ++reg) {
        if (!(registers & register_bit(reg))) continue;
        if (reg > 7) out.byte(0x41);
        out.byte(0x50 | (reg & 7));
    }
}

void pop_registers(RegisterSet registers, Emitter& out) {
    for (u8 reg = 16; reg-- > 0;) {
        if (!(registers & register_bit(reg))) continue;
        if (reg > 7) out.byte(0x41);
        out.byte(0x58 | (reg & 7));
    }
}

void push_record(u64 ip, Emitter& out) {
    out.push(ip + 1);
    out.code(0x55);              // push %rbp
    out.code(0x48, 0x89, 0xe5);  // mov %rsp, %rbp
}

void pop_record(Emitter& out) {
    out.code(0x5d);                          // pop %rbp
    out.code(0x48, 0x8d, 0x64, 0x24, 0x08);  // lea 8(%rsp), %rsp: add would change flags
}

void push_frame(const FrameConstants& constants, Emitter& out) {
    out.push(constants.ip + 1);
    out.code(0x55);  // push %rbp
    out.push(constants.ss);
    out.code(0x54);  // push %rsp: corrected below, once the flags are saved
    out.code(0x9c);  // pushf
    out.push(constants.cs);
    out.push(constants.ip);
    out.push(~0ul);                                            // orig_ax: no system call
    out.code(0x57, 0x56, 0x52, 0x51, 0x50);                    // push di si dx cx ax
    out.code(0x41, 0x50, 0x41, 0x51, 0x41, 0x52, 0x41, 0x53);  // push r8 r9 r10 r11
    out.code(0x53, 0x55);                                      // push bx bp
    out.code(0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57);  // push r12 r13 r14 r15
    // `push %rsp` stored its own address + 8 = S - 24 with S the site's stack pointer.
    out.code(0x48, 0x83, 0x84, 0x24);  // addq $24, sp(%rsp)
    out.imm32(offset_of_sp);
    out.byte(kRecord + 8);
    out.code(0x48, 0x8d, 0xac, 0x24);  // lea record(%rsp), %rbp
    out.imm32(sizeof(Frame));
}

void pop_frame(Emitter& out) {
    pop_all_registers(out);
    // lea, not add: from here on nothing may change flags.
    out.code(0x48, 0x8d, 0x64, 0x24, 24);            // over orig_ax, ip, cs
    out.code(0x9d);                                  // popf
    out.code(0x48, 0x8d, 0x64, 0x24, 16 + kRecord);  // over sp, ss, the record
}

void resume_frame(Emitter& out) {
    pop_all_registers(out);
    out.code(0x48, 0x8d, 0x64, 0x24, 8);  // over orig_ax
    // A kernel that is a PV guest of Xen runs in ring 3: iretq cannot return to what the frame's
    // constants name.
    out.code(0x8c, 0x4c, 0x24, 8);   // mov %cs, 8(%rsp)
    out.code(0x8c, 0x54, 0x24, 32);  // mov %ss, 32(%rsp)
    out.code(0x48, 0xcf);            // iretq: ip, cs, flags, sp, ss
}

void reserve_frame(Emitter& out) {
    out.code(0x48, 0x8d, 0xa4, 0x24);  // lea -frame(%rsp), %rsp
    out.imm32(-static_cast<u32>(sizeof(Frame)));
}

void store_fields(FieldSet fields, const FrameConstants& constants, Emitter& out) {
    for (u8 reg = 0; reg < 16; ++reg)
        if (reg != kBp && reg != kSp && has(fields, kFieldOf[reg])) store(reg, kFieldOf[reg], out);
    if (has(fields, __builtin_offsetof(Frame, flags))) {
        out.code(0x9c, 0x8f);  // pushf; pop flags
        field_operand(0, __builtin_offsetof(Frame, flags), out);
    }
    if (has(fields, __builtin_offsetof(Frame, bp))) {
        out.code(0x48, 0x8b, 0x45, 0x00);  // mov (%rbp), %rax: rbp itself is on the record
        store(kRax, __builtin_offsetof(Frame, bp), out);
    }
    if (has(fields, offset_of_sp)) {
        out.code(0x48, 0x8d, 0x45, kRecord);  // lea 16(%rbp), %rax
        store(kRax, offset_of_sp, out);
    }
    const struct {
        size_t offset;
        u64 value;
    } kConstants[] = {
        {__builtin_offsetof(Frame, orig_ax), ~0ul},
        {__builtin_offsetof(Frame, ip), constants.ip},
        {__builtin_offsetof(Frame, cs), constants.cs},
        {__builtin_offsetof(Frame, ss), constants.ss},
    };
    for (const auto& constant : kConstants)
        if (has(fields, constant.offset)) store_constant(constant.value, constant.offset, out);
}

void load_registers(RegisterSet registers, Emitter& out) {
    for (u8 reg = 0; reg < 16; ++reg)
        if (registers & register_bit(reg)) move(0x8b, reg, kFieldOf[reg], out);
}

void load_flags(Emitter& out) {
    out.byte(0xff);  // push flags
    field_operand(6, __builtin_offsetof(Frame, flags), out);
    out.code(0x9d);  // popf
}

void drop_frame(Emitter& out) {
    out.code(0xc9);                          // leave
    out.code(0x48, 0x8d, 0x64, 0x24, 0x08);  // lea 8(%rsp), %rsp
}

FieldSet fields_of(RegisterSet registers) {
    FieldSet fields = 0;
    for (u8 reg = 0; reg < 16; ++reg)
        if (registers & register_bit(reg)) fields |= field_bit(kFieldOf[reg]);
    return fields;
}

RegisterSet registers_of(FieldSet fields) {
    RegisterSet registers = 0;
    for (u8 reg = 0; fields && reg < 16; ++reg)
        if (has(fields, kFieldOf[reg])) registers |= register_bit(reg);
    return registers;
}

}  // namespace djprobe::x86
