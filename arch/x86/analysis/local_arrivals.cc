// SPDX-License-Identifier: GPL-2.0
#include "local_arrivals.h"

#include "../insn/scan.h"

namespace djprobe::x86 {
namespace {

bool is_short_branch(u8 opcode) {
    return opcode >> 4 == 7 || opcode == 0xeb || opcode >> 2 == 0xe0 >> 2;
}

/// The last byte of the opcode of a jump, conditional or not, with 4 bytes of displacement.
bool is_long_jump(u8 opcode) {
    return opcode == 0xe9 || opcode >> 4 == 8;
}

/// Calls found(address, target) for every byte and every four bytes that could be the displacement
/// of a direct branch, which always ends its instruction; found() -> bool (true: enough).
template <class Found>
bool any_displacement(const Code& code, Found&& found) {
    const u8* bytes = code.bytes.data();
    for (size_t i = 0; i + 1 < code.bytes.size(); ++i) {
        const u64 at = code.address + i;
        if (is_short_branch(bytes[i]) &&
            found(at, at + 2 + static_cast<u64>(static_cast<signed char>(bytes[i + 1]))))
            return true;
        if (i + 4 > code.bytes.size()) continue;
        i32 displacement;
        __builtin_memcpy(&displacement, bytes + i, 4);
        if (found(at, at + 4 + static_cast<u64>(static_cast<i64>(displacement)))) return true;
        const u64 fallback = xbegin_rel16_target(at, displacement);
        if (fallback && found(at, fallback)) return true;
    }
    return false;
}

/// Whether the ModRM byte behind opcode ff makes it a jump: /4, and from memory the far /5.
bool is_indirect_jump(u8 modrm) {
    const u8 reg = modrm >> 3 & 7;
    return reg == 4 || (reg == 5 && modrm >> 6 != 3);
}

/// No bytes of `function` could be an indirect jump or one through a thunk.
bool has_no_indirect_jump(const Code& function, const IndirectThunks& thunks) {
    const u8* bytes = function.bytes.data();
    for (size_t i = 0; i + 1 < function.bytes.size(); ++i)
        if (bytes[i] == 0xff && is_indirect_jump(bytes[i + 1])) return false;
    return !any_displacement(function, [&](u64 at, u64 target) {
        if (!thunks.contains(target)) return false;
        // Most of what leads out of all text is no displacement at all.
        const u64 i = at - function.address;
        return is_short_branch(bytes[i]) || (i && is_long_jump(bytes[i - 1]));
    });
}

}  // namespace

Refusal find_branch_into(const Code& code, Range targets) {
    // Decoding is what an analysis spends its time on, and hardly ever needed.
    u64 stop = code.address;
    any_displacement(code, [&](u64 at, u64 target) {
        if (targets.contains(target)) stop = at + 1;
        return false;
    });
    Refusal found;
    const Refusal scan = for_each_insn(code, stop, [&](const Insn& insn) {
        // An xbegin's fallback address is a branch target like any other.
        if (insn.rel_size && targets.contains(insn.target))
            found = Refusal{Reason::BRANCH_INTO_REGION, insn.address, insn.target};
        return !found;
    });
    return found ? found : scan;
}

Refusal find_indirect_jump(const Snapshot& snapshot) {
    const Code& function = snapshot.function;
    if (has_no_indirect_jump(function, snapshot.indirect_thunks)) return {};
    const Range inside = {function.address + 1, function.range().end};
    Refusal jump;
    bool through_memory = false;
    bool takes_inside = false;
    const Refusal scan = for_each_insn(function, function.range().end, [&](const Insn& insn) {
        const bool thunk = (insn.kind == Kind::Jump || insn.kind == Kind::CondJump) &&
                           snapshot.indirect_thunks.contains(insn.target);
        if ((thunk || insn.kind == Kind::IndirectJump) && !through_memory) {
            // Boot turns `jmp thunk` into `jmp *reg` where the CPU needs no thunk.
            through_memory = !thunk && function.from(insn.address)[insn.modrm_offset] >> 6 != 3;
            if (!jump || through_memory) jump = Refusal{Reason::INDIRECT_JUMP, insn.address};
        }
        takes_inside |= inside.contains(insn.taken);
        return true;
    });
    if (scan) return scan;
    // A compiler that makes no jump tables jumps through registers only to other functions. Memory
    // it would have had to load first: that is assembly with a table. And assembly can compute a
    // place in itself without a table, but must take an address there first.
    if (jump && (!snapshot.no_jump_tables || through_memory || takes_inside)) return jump;
    return {};
}

}  // namespace djprobe::x86
