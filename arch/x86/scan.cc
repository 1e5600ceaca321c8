// SPDX-License-Identifier: GPL-2.0
#include "scan.h"

namespace djprobe::x86 {
namespace {

bool is_padding(const Insn& insn, Span<const u8> bytes) {
    // Linkers fill with zeros, which decode as `add %al,(%rax)`.
    return insn.kind == Kind::Int3 || insn.kind == Kind::Nop ||
           (insn.length == 2 && bytes[0] == 0 && bytes[1] == 0);
}

}  // namespace

Refusal find_boundary(const Code& function, u64 address, Boundary& out) {
    out = {function.address, function.range().end};
    return for_each_insn(function, address + 1, [&](const Insn& insn) {
        out = {insn.address, insn.end()};
        return insn.end() <= address;
    });
}

Range replaced_bytes(const Code& function, u64 site) {
    constexpr u64 jump = 5;
    u64 end = site + jump;
    // A refusal only means that the bytes cannot be displaced anyway.
    (void)for_each_insn(Code{site, function.from(site)}, site + jump, [&](const Insn& insn) {
        if (insn.end() > end) end = insn.end();
        return true;
    });
    return {site + 1, end};
}

u64 real_end(const Code& function) {
    u64 end = function.address;
    const Refusal refusal = for_each_insn(function, function.range().end, [&](const Insn& insn) {
        if (!is_padding(insn, function.from(insn.address))) end = insn.end();
        return true;
    });
    return refusal ? function.range().end : end;
}

Range dead_padding(const Code& function) {
    Range padding = {function.address, function.address};
    bool dead = false;
    const Refusal refusal = for_each_insn(function, function.range().end, [&](const Insn& insn) {
        if (is_padding(insn, function.from(insn.address))) return true;
        padding.begin = insn.end();
        // After a call control continues, unless the callee is known not to return: not known here.
        dead = insn.is_terminal() || insn.kind == Kind::Trap;
        return true;
    });
    if (refusal || !dead) return {};
    // Zeros are no padding that anybody has promised to leave alone.
    padding.end = padding.begin;
    (void)for_each_insn(function, function.range().end, [&](const Insn& insn) {
        const bool filler = insn.kind == Kind::Int3 || (insn.kind == Kind::Nop && insn.length > 1);
        if (insn.address == padding.end && filler) padding.end = insn.end();
        return true;
    });
    return padding;
}

Refusal find_branch_into(const Code& code, Range targets) {
    Refusal found;
    const Refusal scan = for_each_insn(code, code.range().end, [&](const Insn& insn) {
        // An xbegin's fallback address is a branch target like any other.
        if (insn.rel_size && targets.contains(insn.target))
            found = Refusal{Reason::BRANCH_INTO_REGION, insn.address, insn.target};
        return !found;
    });
    return found ? found : scan;
}

Refusal find_indirect_jump(const Snapshot& snapshot) {
    const Code& function = snapshot.function;
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
