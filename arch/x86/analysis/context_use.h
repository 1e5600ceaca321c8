// SPDX-License-Identifier: GPL-2.0
// What a verified BPF program can read of its context, found by reading the program.
#pragma once

#include "../insn/types.h"

namespace djprobe::x86 {

/// An instruction of the kernel's struct bpf_insn; layout is ABI. A 64-bit load of an immediate
/// takes two.
struct BpfInsn {
    u8 code;
    u8 dst : 4;
    u8 src : 4;
    short off;
    i32 imm;
};
static_assert(sizeof(BpfInsn) == 8);

/// What a program reads of its context, a struct pt_regs.
struct ContextUse {
    u32 fields = 0;        ///< 8-byte fields of the context that it may read: bit = offset / 8
    bool escapes = false;  ///< other code may read it: `fields` holds all
    bool calls = false;    ///< it calls a helper or another function
    /// It calls a helper that depends on how it is attached and on the run's bookkeeping.
    bool needs_run_context = false;
};

/// What the analysis remembers of each instruction, in the caller's memory.
using ContextState = u16;

inline constexpr size_t kMaxContextInsns = 4096;

/// Analyse a program as the kernel keeps it after verification: calls of helpers hold the distance
/// of the helper from a base, about which needs_context(imm) is asked.
/// @param state one for each instruction, contents unimportant; with fewer, or with more than
/// kMaxContextInsns instructions, everything is used
ContextUse find_context_use(Span<const BpfInsn> program, Span<ContextState> state,
                            bool (*needs_context)(i32 imm));

}  // namespace djprobe::x86
