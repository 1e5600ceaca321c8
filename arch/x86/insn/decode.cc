// SPDX-License-Identifier: GPL-2.0
#include "decode.h"

#include <Zydis/Decoder.h>

#include "common.h"

namespace djprobe::x86 {
namespace {

Kind kind_of(const ZydisDecodedInstruction& raw) {
    switch (raw.mnemonic) {
        case ZYDIS_MNEMONIC_INT3:
            return Kind::Int3;
        case ZYDIS_MNEMONIC_ENDBR64:
        case ZYDIS_MNEMONIC_ENDBR32:
            return Kind::Endbr;
        case ZYDIS_MNEMONIC_UD0:
        case ZYDIS_MNEMONIC_UD1:
        case ZYDIS_MNEMONIC_UD2:
            return Kind::Trap;
        case ZYDIS_MNEMONIC_STI:
            return Kind::InterruptShadow;
        case ZYDIS_MNEMONIC_MOV:
        case ZYDIS_MNEMONIC_POP: {
            // 8e /2 (mov ss, r/m); `pop ss` does not exist in 64-bit mode, pop fs/gs have no
            // shadow.
            const bool to_segment =
                raw.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && raw.opcode == 0x8e;
            return to_segment && raw.raw.modrm.reg == 2 ? Kind::InterruptShadow : Kind::Plain;
        }
        case ZYDIS_MNEMONIC_HLT:
        case ZYDIS_MNEMONIC_MWAIT:
        case ZYDIS_MNEMONIC_MWAITX:
        case ZYDIS_MNEMONIC_UMWAIT:
        case ZYDIS_MNEMONIC_TPAUSE:
        case ZYDIS_MNEMONIC_RSM:
        case ZYDIS_MNEMONIC_VMRUN:
        case ZYDIS_MNEMONIC_SWAPGS:
        case ZYDIS_MNEMONIC_SENDUIPI:
        case ZYDIS_MNEMONIC_UIRET:
            return Kind::SystemFlow;
        case ZYDIS_MNEMONIC_XBEGIN:
        case ZYDIS_MNEMONIC_XABORT:
        case ZYDIS_MNEMONIC_XEND:
            return Kind::Transaction;
        case ZYDIS_MNEMONIC_LOOP:
        case ZYDIS_MNEMONIC_LOOPE:
        case ZYDIS_MNEMONIC_LOOPNE:
        case ZYDIS_MNEMONIC_JRCXZ:
        case ZYDIS_MNEMONIC_JECXZ:
            return Kind::CounterJump;
        default:
            break;
    }
    const bool far = raw.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR;
    const bool direct = raw.raw.imm[0].is_relative;
    switch (raw.meta.category) {
        case ZYDIS_CATEGORY_NOP:
        case ZYDIS_CATEGORY_WIDENOP:
            return Kind::Nop;
        case ZYDIS_CATEGORY_CALL:
            return far ? Kind::SystemFlow : direct ? Kind::Call : Kind::IndirectCall;
        case ZYDIS_CATEGORY_UNCOND_BR:
            return far ? Kind::SystemFlow : direct ? Kind::Jump : Kind::IndirectJump;
        case ZYDIS_CATEGORY_COND_BR:
            return Kind::CondJump;
        case ZYDIS_CATEGORY_RET:
            return raw.mnemonic == ZYDIS_MNEMONIC_RET && !far ? Kind::Return : Kind::SystemFlow;
        case ZYDIS_CATEGORY_INTERRUPT:
            return Kind::Trap;
        case ZYDIS_CATEGORY_SYSCALL:
        case ZYDIS_CATEGORY_SYSRET:
        case ZYDIS_CATEGORY_VTX:
        case ZYDIS_CATEGORY_SGX:
            return Kind::SystemFlow;
        default:
            return Kind::Plain;
    }
}

/// Xeon Phi's first instructions (mask jumps among them), which no CPU that runs this executes.
bool is_knights_corner(const ZydisDecodedInstruction& raw) {
    switch (raw.meta.isa_ext) {
        case ZYDIS_ISA_EXT_KNC:
        case ZYDIS_ISA_EXT_KNCE:
        case ZYDIS_ISA_EXT_KNCV:
            return true;
        default:
            return false;
    }
}

/// How a guest asks Xen or KVM to emulate an instruction: the handler of the ud2's trap looks for
/// these bytes, and reads the instruction from those behind them.
size_t emulate_prefix_length(Span<const u8> bytes) {
    constexpr size_t kLength = 5;
    constexpr u8 kXen[kLength] = {0x0f, 0x0b, 'x', 'e', 'n'};
    constexpr u8 kKvm[kLength] = {0x0f, 0x0b, 'k', 'v', 'm'};
    if (bytes.size() <= kLength) return 0;
    bool xen = true, kvm = true;
    for (size_t i = 0; i < kLength; ++i) {
        xen &= bytes[i] == kXen[i];
        kvm &= bytes[i] == kKvm[i];
    }
    return xen || kvm ? kLength : 0;
}

/// The r/m operand is rsp or memory based on rsp: number 4, which without REX.B is no other
/// register. (With mod != 3 the rm value 4 means "SIB".)
bool is_stack_relative(const ZydisDecodedInstruction& raw) {
    const auto& r = raw.raw;
    if (!(raw.attributes & ZYDIS_ATTRIB_HAS_MODRM) || r.modrm.rm != 4 || r.rex.B) return false;
    return r.modrm.mod == 3 || r.sib.base == 4;
}

/// Constants that code computes places of code from: `lea place(%rip)`, `lea place(,%rax,8)`, `mov
/// $place`, `push $place`. Only in 64-bit operations: a 32-bit one cannot hold a kernel address,
/// but its constant (an ioctl's number, say) would look like one under some of KASLR's offsets.
void find_taken(const ZydisDecodedInstruction& raw, Insn& out) {
    const auto& imm = raw.raw.imm[0];
    if (raw.mnemonic == ZYDIS_MNEMONIC_LEA && raw.raw.disp.size == 32) {
        out.taken_offset = raw.raw.disp.offset;
        out.taken = (out.rip_disp_offset ? out.end() : 0) + static_cast<u64>(raw.raw.disp.value);
    } else if (!imm.is_relative && imm.size >= 32 && raw.operand_width == 64) {
        out.taken_offset = imm.offset;
        out.taken = imm.value.u;
    }
}

}  // namespace

bool decode(Span<const u8> bytes, u64 address, Insn& out) {
    return decode_common(bytes, address, out) || decode_any(bytes, address, out);
}

bool decode_any(Span<const u8> bytes, u64 address, Insn& out) {
    if (const size_t prefix = emulate_prefix_length(bytes)) {
        Insn emulated;
        if (!decode(bytes.first(kMaxInsnLength).from(prefix), address + prefix, emulated))
            return false;
        out = Insn{};
        out.address = address;
        out.length = static_cast<u8>(prefix + emulated.length);
        out.kind = Kind::SystemFlow;
        return true;
    }
    ZydisDecoder decoder;
    ZydisDecodedInstruction raw;
    if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
        return false;
    const size_t available = bytes.first(kMaxInsnLength).size();
    if (!ZYAN_SUCCESS(
            ZydisDecoderDecodeInstruction(&decoder, nullptr, bytes.data(), available, &raw)))
        return false;
    if (is_knights_corner(raw)) return false;

    out = Insn{};
    out.address = address;
    out.length = raw.length;
    out.kind = kind_of(raw);
    out.stack_relative = is_stack_relative(raw);
    if (raw.attributes & ZYDIS_ATTRIB_HAS_MODRM) {
        out.modrm_offset = raw.raw.modrm.offset;
        const bool rip = raw.raw.modrm.mod == 0 && raw.raw.modrm.rm == 5 && raw.raw.disp.size == 32;
        if (rip) out.rip_disp_offset = raw.raw.disp.offset;
        out.immovable = rip && raw.address_width != 64;
    }
    find_taken(raw, out);
    if (raw.raw.imm[0].is_relative) {
        out.rel_offset = raw.raw.imm[0].offset;
        out.rel_size = raw.raw.imm[0].size / 8;
        out.target = out.end() + static_cast<u64>(raw.raw.imm[0].value.s);
        out.immovable |= out.rel_size != 1 && out.rel_size != 4;
    }
    // With an operand-size prefix vendors disagree on the size of a branch's displacement or
    // target.
    if (out.rel_size || out.kind == Kind::IndirectCall || out.kind == Kind::IndirectJump)
        out.immovable |= (raw.attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE) != 0;
    return true;
}

}  // namespace djprobe::x86
