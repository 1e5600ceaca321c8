// SPDX-License-Identifier: GPL-2.0
#include "program.h"

#include "scan.h"

namespace djprobe::x86 {

RegisterSet find_clobbers(const Code& function, Range return_thunks) {
    RegisterSet clobbers = 0;
    const auto leaves = [&](const Insn& insn) {
        if (insn.is_call() || insn.kind == Kind::IndirectJump) return true;
        return insn.rel_size && !function.range().contains(insn.target) &&
               !return_thunks.contains(insn.target);
    };
    const Refusal scan = for_each_insn(function, function.range().end, [&](const Insn& insn) {
        // An int3 is filler: a JIT's program does not trap.
        if (insn.kind == Kind::Int3) return true;
        clobbers |=
            leaves(insn) ? kAllRegisters : find_effects(insn, function.from(insn.address)).writes;
        return true;
    });
    return scan ? kCallerSaved : clobbers & kCallerSaved;
}

u64 find_body(const Code& program) {
    constexpr u8 patchable = 5;
    Insn insn;
    u64 at = program.address;
    if (decode(program.from(at), at, insn) && insn.kind == Kind::Endbr) at = insn.end();
    const bool traceable =
        decode(program.from(at), at, insn) && insn.kind == Kind::Nop && insn.length == patchable;
    if (!traceable) return program.address;
    at = insn.end();
    // Another one stands for what programs with tail calls do here; the kernel does not patch it.
    const bool placeholder =
        decode(program.from(at), at, insn) && insn.kind == Kind::Nop && insn.length < patchable;
    return placeholder ? insn.end() : at;
}

}  // namespace djprobe::x86
