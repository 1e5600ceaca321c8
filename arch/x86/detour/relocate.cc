// SPDX-License-Identifier: GPL-2.0
#include "relocate.h"

namespace djprobe::x86 {
namespace {

constexpr u8 kPlainReturn = 0xc3;

/// Copy with the RIP-relative displacement, if any, corrected for the new place.
void copy_adjusted(const Insn& insn, Span<const u8> bytes, Emitter& out) {
    if (!insn.rip_disp_offset) {
        out.bytes(bytes.first(insn.length));
        return;
    }
    const u8* field = bytes.data() + insn.rip_disp_offset;
    const u32 raw = static_cast<u32>(field[0]) | static_cast<u32>(field[1]) << 8 |
                    static_cast<u32>(field[2]) << 16 | static_cast<u32>(field[3]) << 24;
    const u64 operand = insn.end() + static_cast<u64>(static_cast<i64>(static_cast<i32>(raw)));
    const size_t behind = insn.rip_disp_offset + 4u;
    out.bytes(bytes.first(insn.rip_disp_offset));
    out.rel32(operand, insn.length - behind);
    out.bytes(bytes.from(behind).first(insn.length - behind));
}

/// Behind a return or an indirect jump a CPU may run ahead in a straight line before it knows where
/// that leads; compilers put an int3 there, and so does a copy.
void stop_speculation(Emitter& out) {
    out.code(kInt3);
}

/// loop and jrcxz have no long form: keep them, hopping over a jump that is not taken.
void counter_jump(const Insn& insn, Span<const u8> bytes, Emitter& out) {
    out.bytes(bytes.first(insn.rel_offset));
    out.code(0x02);        // taken: to the long jump
    out.code(0xeb, 0x05);  // not taken: over it
    out.jump(insn.target);
}

/// FF /2 (call) and FF /4 (jmp) take the same operands.
void indirect_call(const Insn& insn, Span<const u8> bytes, Emitter& out) {
    u8 copy[kMaxInsnLength];
    copy_bytes(copy, bytes.first(insn.length));
    copy[insn.modrm_offset] = static_cast<u8>((copy[insn.modrm_offset] & 0xc7) | (4 << 3));
    out.push(insn.end());
    copy_adjusted(insn, {copy, insn.length}, out);
    stop_speculation(out);
}

}  // namespace

Refusal relocate(const Insn& insn, Span<const u8> bytes, Emitter& out) {
    switch (insn.kind) {
        case Kind::Plain:
        case Kind::Nop:
        case Kind::InterruptShadow:
            copy_adjusted(insn, bytes, out);
            break;
        case Kind::IndirectJump:
            copy_adjusted(insn, bytes, out);
            stop_speculation(out);
            break;
        case Kind::Jump:
            out.jump(insn.target);
            break;
        case Kind::Return:
            if (!out.return_thunk()) {
                copy_adjusted(insn, bytes, out);
                stop_speculation(out);
            } else if (bytes[insn.length - 1u] == kPlainReturn) {
                out.jump(out.return_thunk());
            } else {
                return Refusal{Reason::NOT_RELOCATABLE, insn.address};
            }
            break;
        case Kind::CondJump: {
            // 7x rel8 and 0f 8x rel32 share the condition in the low nibble.
            const u8 condition = bytes[insn.rel_offset - 1u] & 0x0f;
            out.code(0x0f, 0x80 | condition);
            out.rel32(insn.target);
            break;
        }
        case Kind::CounterJump:
            counter_jump(insn, bytes, out);
            break;
        case Kind::Call:
            out.push(insn.end());
            out.jump(insn.target);
            break;
        case Kind::IndirectCall:
            indirect_call(insn, bytes, out);
            break;
        case Kind::Int3:
        case Kind::Trap:
        case Kind::Endbr:
        case Kind::SystemFlow:
        case Kind::Transaction:
            return Refusal{Reason::NOT_RELOCATABLE, insn.address};
    }
    return out.ok() ? Refusal{} : Refusal{Reason::OUT_OF_REACH, insn.address};
}

}  // namespace djprobe::x86
