// SPDX-License-Identifier: GPL-2.0
// Which registers and flags the code behind an address still needs.
#pragma once

#include "../insn/effects.h"
#include "snapshot.h"

namespace djprobe::x86 {

/// An instruction that the kernel rewrites while it runs, so that its bytes do not tell what it
/// will do.
struct Rewritten {
    enum class Kind : u8 {
        Label,    ///< a jump label: continues with its successor or at `target`
        Call,     ///< a static call: a call, a nop, or (as a tail call) a jump or return
        Unknown,  ///< anything, with any register; also a patch that reads registers, as a probe
                  ///< does
    };
    u64 address = 0;
    Kind kind = Kind::Unknown;
    u64 target = 0;
};

/// A function, and what its bytes do not show. The defaults are the careful answers.
struct Flow {
    Code function = {};  ///< the whole symbol
    Code cold = {};  ///< the part that the compiler has moved elsewhere (NAME.cold); may be empty
    /// There is no third part: a jump that leaves both is a tail call.
    bool whole = false;
    /// The function keeps to the C convention towards its callers and callees: the compiler has
    /// made it with an ftrace call at its entry. Without one it may be assembly with a convention
    /// of its own, a part of another function, or of a file whose functions know which registers
    /// their callees spare (-fipa-ra, which only -pg turns off).
    bool standard_abi = false;
    /// An exception-table entry lies in it: control may arrive at its fixup from the middle of an
    /// instruction, and it may run with user memory open (RFLAGS.AC).
    bool has_fixups = true;
    Range return_thunks = {};    ///< out-of-line `ret`
    Range indirect_thunks = {};  ///< out-of-line `jmp *reg`
    /// Complete for both parts.
    Span<const Rewritten> rewritten = {};
    /// True for a function that the compiler has made with an ftrace call: it takes arguments where
    /// the C convention says, and nothing else. Asked only where the answer matters; null: never.
    bool (*is_compiled)(u64 function) = nullptr;
    /// What was found out before. May be null.
    EffectsMemo* effects = nullptr;
    /// What several questions about the two parts share. May be null.
    FunctionMemo* memo = nullptr;
    FunctionMemo* cold_memo = nullptr;
};

struct Live {
    RegisterSet registers = kCallerSaved;  ///< of the caller-saved ones
    bool flags = true;                     ///< at least one status flag
    /// AC or DF may be set here: flags must be saved as a whole and both cleared for C code.
    bool system_flags = true;
};

/// What is live in either.
Live merge(const Live& one, const Live& other);

/// What a question about liveness is about: the rest counts as live, unasked. The less is asked,
/// the sooner it is answered.
struct Asked {
    RegisterSet registers = kCallerSaved;
    bool system_flags = true;
};

/// What may be live at `from`, right before the instruction there. Explores the control flow from
/// there; what is undecided at its bounds counts as live. Pure but for Flow::is_compiled
/// and the memos; no allocation, any context.
Live find_live(const Flow& flow, u64 from, const Asked& asked = {});

}  // namespace djprobe::x86
