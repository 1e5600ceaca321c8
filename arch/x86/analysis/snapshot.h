// SPDX-License-Identifier: GPL-2.0
// What the analysis is told: the bytes around a site and every fact that bytes cannot show.
// The caller (the module, the loader, a test) fills it and answers for its completeness.
#pragma once

#include "../insn/decode.h"
#include "../insn/reason.h"

namespace djprobe::x86 {

/// Most bytes that a jump displaces.
inline constexpr size_t kMaxRegion = 32;

/// How control may arrive at an address other than by falling through or by a branch that the
/// snapshot's own functions show.
struct Landing {
    Reason reason;  ///< BRANCH_, FIXUP_, POINTER_ or LABEL_INTO_REGION
    u64 source;     ///< the branch, the stored pointer or the label; 0 for a fixup
    u64 target;
};

/// Bytes that the kernel or another patcher owns, or that must stay where they are, and why.
struct Reserved {
    Range range;
    Reason reason;
};

/// What a direct jump may lead to that stands for `jmp *reg`.
struct IndirectThunks {
    Range compiled;  ///< what the compiler jumps to instead; empty: nothing
    /// Where boot leads such a jump on a CPU that needs another thunk (call depth tracking, ITS).
    Range at_boot[2];
    /// The kernel's text and that of the function's module: ITS thunks are made at boot, outside.
    Range texts[2];

    bool contains(u64 target) const {
        if (compiled.contains(target)) return true;
        if (at_boot[0].contains(target) || at_boot[1].contains(target)) return true;
        // Without the first kind there is none of the others, and the texts need not be known.
        return compiled.size() && texts[0].size() && !texts[0].contains(target) &&
               !texts[1].contains(target);
    }
};

/// What several sites of one function share, as long as its bytes stay the same.
struct FunctionMemo {
    bool knows_indirect_jump = false;
    /// What the answer rests on beside the function's bytes: a module's index may come later.
    bool no_jump_tables = false;
    Refusal indirect_jump;  ///< find_indirect_jump()'s answer, once it is known
    bool knows_system_flags = false;
    bool changes_system_flags = false;  ///< see Live::system_flags
    /// Where the function's own direct branches lead: a bit for each of its bytes. Empty: not
    /// known.
    Span<const u64> targets = {};

    /// Whether no branch of the function leads into `range`, of which all lies in it.
    constexpr bool excludes(Range function, Range range) const {
        if (targets.empty() || range.begin < function.begin || range.end > function.end)
            return false;
        for (u64 at = range.begin - function.begin; at < range.end - function.begin; ++at)
            if (targets[at / 64] >> at % 64 & 1) return false;
        return true;
    }
};

/// All that is known about one site.
///
/// `function` is the whole symbol that holds the site, padding up to the next symbol included;
/// `neighbours` are the symbols from which a short branch can reach the region (or, for tactics
/// other than the plain window, any byte within kTacticReach). Branches that are not in these (a
/// `.cold` part anywhere in the kernel) come as `landings`.
struct Snapshot {
    u64 site = 0;
    Code function;
    Span<const Code> neighbours;
    Span<const Landing> landings;
    Span<const Reserved> reserved;
    /// The compiler made no jump tables (retpolines or IBT), so `jmp *reg` in C code is a tail
    /// call.
    bool no_jump_tables = false;
    IndirectThunks indirect_thunks;
    /// Tactics that may be tried, by tactic_bit(). For the plain window `landings` and `reserved`
    /// must be complete within replaced_bytes(), for others within kTacticReach of the site.
    u8 tactics = 1;
    /// Of `function`; filled as far as it is asked for. May be null.
    FunctionMemo* memo = nullptr;
};

/// A short branch reaches at most this far from its first byte (2 bytes + 127).
inline constexpr u64 kShortReach = 130;

/// No tactic displaces or writes a byte farther away from the site: a region, or a short jump and
/// what it leads to.
inline constexpr u64 kTacticReach = kShortReach + kMaxRegion;

}  // namespace djprobe::x86
