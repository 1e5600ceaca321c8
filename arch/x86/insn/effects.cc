// SPDX-License-Identifier: GPL-2.0
#include "effects.h"

#include <Zydis/Decoder.h>

namespace djprobe::x86 {
namespace {

constexpr u32 kSystemFlags = ZYDIS_CPUFLAG_AC | ZYDIS_CPUFLAG_DF;

struct Raw {
    ZydisDecodedInstruction insn;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

bool decode_raw(Span<const u8> bytes, Raw& out) {
    ZydisDecoder decoder;
    ZydisDecoderContext context;
    const size_t available = bytes.first(kMaxInsnLength).size();
    // Not ZydisDecoderDecodeFull(), which spends most of its time on clearing unused operands.
    return ZYAN_SUCCESS(
               ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) &&
           ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, &context, bytes.data(), available,
                                                      &out.insn)) &&
           ZYAN_SUCCESS(ZydisDecoderDecodeOperands(&decoder, &context, &out.insn, out.operands,
                                                   out.insn.operand_count));
}

/// Instructions that do more than the decoder's tables tell.
bool is_opaque(ZydisMnemonic mnemonic) {
    switch (mnemonic) {
        case ZYDIS_MNEMONIC_XLAT:    // al is an index, too
        case ZYDIS_MNEMONIC_RDSSPD:  // nops where there are no shadow stacks
        case ZYDIS_MNEMONIC_RDSSPQ:
        case ZYDIS_MNEMONIC_MOVDIR64B:  // the register operand addresses memory
        case ZYDIS_MNEMONIC_ENQCMD:
        case ZYDIS_MNEMONIC_ENQCMDS:
        case ZYDIS_MNEMONIC_RDPRU:  // rmpread and rmpquery, too, which take an address in rax
        // A hypervisor, or firmware in SMM, reads and writes registers of its choice.
        case ZYDIS_MNEMONIC_VMMCALL:
        case ZYDIS_MNEMONIC_VMRUN:
        case ZYDIS_MNEMONIC_TDCALL:
        case ZYDIS_MNEMONIC_SEAMCALL:
        case ZYDIS_MNEMONIC_SEAMRET:
        case ZYDIS_MNEMONIC_SEAMOPS:
        case ZYDIS_MNEMONIC_GETSEC:
        case ZYDIS_MNEMONIC_IN:
        case ZYDIS_MNEMONIC_INSB:
        case ZYDIS_MNEMONIC_INSW:
        case ZYDIS_MNEMONIC_INSD:
        case ZYDIS_MNEMONIC_OUT:
        case ZYDIS_MNEMONIC_OUTSB:
        case ZYDIS_MNEMONIC_OUTSW:
        case ZYDIS_MNEMONIC_OUTSD:
            return true;
        default:
            return false;
    }
}

/// The flow leaves for code that this decoder does not see.
bool is_unknown(Kind kind) {
    return kind == Kind::Trap || kind == Kind::SystemFlow || kind == Kind::Transaction ||
           kind == Kind::Int3;
}

/// With a zero source they leave their destination as it is: all bit scans on AMD, tzcnt and lzcnt
/// where an older CPU takes them for bsf and bsr. The kernel's ffs() relies on that.
bool is_bit_scan(ZydisMnemonic mnemonic) {
    return mnemonic == ZYDIS_MNEMONIC_BSF || mnemonic == ZYDIS_MNEMONIC_BSR ||
           mnemonic == ZYDIS_MNEMONIC_TZCNT || mnemonic == ZYDIS_MNEMONIC_LZCNT;
}

/// A shift or rotation whose count may be zero, which leaves flags as they are.
bool may_shift_by_zero(const Raw& raw) {
    const auto category = raw.insn.meta.category;
    if (category != ZYDIS_CATEGORY_SHIFT && category != ZYDIS_CATEGORY_ROTATE) return false;
    // The count is the last visible operand: cl or an immediate.
    const ZydisDecodedOperand& count = raw.operands[raw.insn.operand_count_visible - 1];
    if (count.type != ZYDIS_OPERAND_TYPE_IMMEDIATE) return true;
    return (count.imm.value.u & (raw.insn.operand_width == 64 ? 0x3f : 0x1f)) == 0;
}

/// xor or sub of a register with itself: the result does not depend on it.
bool is_zeroing(const Raw& raw) {
    if (raw.insn.mnemonic != ZYDIS_MNEMONIC_XOR && raw.insn.mnemonic != ZYDIS_MNEMONIC_SUB)
        return false;
    const ZydisDecodedOperand *const a = &raw.operands[0], *const b = &raw.operands[1];
    return a->type == ZYDIS_OPERAND_TYPE_REGISTER && b->type == ZYDIS_OPERAND_TYPE_REGISTER &&
           a->reg.value == b->reg.value && a->size >= 32;
}

/// The set that holds a general register, whatever part of it is named; else empty.
RegisterSet set_of(ZydisRegister reg) {
    const ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
    if (ZydisRegisterGetClass(whole) != ZYDIS_REGCLASS_GPR64) return 0;
    return register_bit(static_cast<u8>(ZydisRegisterGetId(whole)));
}

void add_operands(const Raw& raw, Effects& out) {
    for (u8 i = 0; i < raw.insn.operand_count; ++i) {
        const ZydisDecodedOperand& operand = raw.operands[i];
        if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY)
            out.reads |= set_of(operand.mem.base) | set_of(operand.mem.index);
        if (operand.type != ZYDIS_OPERAND_TYPE_REGISTER) continue;
        const RegisterSet set = set_of(operand.reg.value);
        if (operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ) out.reads |= set;
        if (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) out.writes |= set;
        // 32-bit results are extended by zeros, smaller ones keep the rest.
        if (operand.actions & ZYDIS_OPERAND_ACTION_WRITE && operand.size >= 32) out.kills |= set;
    }
}

void add_flags(const Raw& raw, Effects& out) {
    const ZydisAccessedFlags* const flags = raw.insn.cpu_flags;
    if (!flags) return;
    const u32 written = flags->modified | flags->set_0 | flags->set_1;
    out.flags_read = flags->tested & kStatusFlags;
    // A value that the manual calls undefined is the old value on some CPU.
    out.flags_killed = static_cast<u16>(written & ~flags->undefined & kStatusFlags);
    out.system_flags = (written & kSystemFlags) != 0;
}

/// They read or write all of their operand in memory, each time.
bool uses_operand(ZydisMnemonic mnemonic) {
    switch (mnemonic) {
        case ZYDIS_MNEMONIC_MOV:
        case ZYDIS_MNEMONIC_MOVZX:
        case ZYDIS_MNEMONIC_MOVSX:
        case ZYDIS_MNEMONIC_MOVSXD:
        case ZYDIS_MNEMONIC_ADD:
        case ZYDIS_MNEMONIC_SUB:
        case ZYDIS_MNEMONIC_AND:
        case ZYDIS_MNEMONIC_OR:
        case ZYDIS_MNEMONIC_XOR:
        case ZYDIS_MNEMONIC_CMP:
        case ZYDIS_MNEMONIC_TEST:
        case ZYDIS_MNEMONIC_INC:
        case ZYDIS_MNEMONIC_DEC:
        case ZYDIS_MNEMONIC_NEG:
        case ZYDIS_MNEMONIC_NOT:
        case ZYDIS_MNEMONIC_IMUL:
        case ZYDIS_MNEMONIC_XCHG:
        case ZYDIS_MNEMONIC_XADD:
        case ZYDIS_MNEMONIC_CMPXCHG:
        case ZYDIS_MNEMONIC_PUSH:
        case ZYDIS_MNEMONIC_CALL:
        case ZYDIS_MNEMONIC_JMP:
            return true;
        default:
            return false;
    }
}

bool holds(const ZydisDecodedOperand& operand, u8 base, i64 first, i64 last) {
    if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY || operand.mem.type != ZYDIS_MEMOP_TYPE_MEM)
        return false;
    // Where an instruction only writes, a read would be a new one: a device, or memory that is
    // known to be damaged, may answer it with a fault.
    if (!(operand.actions & ZYDIS_OPERAND_ACTION_READ)) return false;
    const bool plain = operand.mem.segment != ZYDIS_REGISTER_FS &&
                       operand.mem.segment != ZYDIS_REGISTER_GS &&
                       operand.mem.index == ZYDIS_REGISTER_NONE &&
                       ZydisRegisterGetClass(operand.mem.base) == ZYDIS_REGCLASS_GPR64;
    const i64 begin = operand.mem.disp.value;
    return plain && static_cast<u8>(ZydisRegisterGetId(operand.mem.base)) == base &&
           begin <= first && last <= begin + operand.size / 8;
}

}  // namespace

bool reads_memory(Span<const u8> bytes, u8 base, i32 displacement, u32 size) {
    Raw raw;
    if (!decode_raw(bytes, raw) || !uses_operand(raw.insn.mnemonic)) return false;
    for (u8 i = 0; i < raw.insn.operand_count_visible; ++i)
        if (holds(raw.operands[i], base, displacement, i64{displacement} + size)) return true;
    return false;
}

Effects find_effects(const Insn& insn, Span<const u8> bytes) {
    Effects out{.reads = 0, .writes = 0, .flags_read = 0, .system_flags = false};
    // A nop does not read its operand.
    if (insn.kind == Kind::Nop || insn.kind == Kind::Endbr) return out;
    Raw raw;
    if (is_unknown(insn.kind) || !decode_raw(bytes, raw) || is_opaque(raw.insn.mnemonic)) return {};
    add_operands(raw, out);
    add_flags(raw, out);
    if (is_zeroing(raw)) out.reads = 0;
    if (is_bit_scan(raw.insn.mnemonic)) {
        out.kills = 0;
        out.flags_killed &= ZYDIS_CPUFLAG_ZF;
    }
    const bool repeats = raw.insn.attributes &
                         (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE);
    if (repeats) {
        // With rcx = 0 nothing happens at all.
        out.reads |= register_bit(kRcx);
        out.kills = 0;
    }
    if (repeats || may_shift_by_zero(raw)) out.flags_killed = 0;
    return out;
}

Effects EffectsMemo::find(const Insn& insn, Span<const u8> bytes) {
    if (insn.length > kLongest || bytes.size() < insn.length) return find_effects(insn, bytes);
    u64 key = 0;
    for (size_t i = 0; i < insn.length; ++i)
        key = key << 8 | bytes[i];
    constexpr u64 kGolden = 0x9e3779b97f4a7c15;
    Entry& entry = entries_[(key ^ insn.length) * kGolden >> (64 - kBits)];
    if (entry.bytes != key || entry.length != insn.length)
        entry = {key, insn.length, find_effects(insn, bytes)};
    return entry.effects;
}

}  // namespace djprobe::x86
