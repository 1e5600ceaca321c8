// SPDX-License-Identifier: GPL-2.0
// All functions that direct calls, tail jumps and falling through can reach from some roots.
#pragma once

#include "snapshot.h"

namespace djprobe::x86 {

/// What the closure needs to know of the text.
/// Functions::function_at(address, Code&) -> bool: the whole function that holds the address; the
/// code stays valid until the next call.
/// Functions::start_of(address, u64&) -> bool: only where that function begins.
/// Functions::is_leaf(const Code&) -> bool: it belongs to the closure, its callees do not.
///
/// Fills `members` with the start addresses of the roots' functions and of all they reach, in
/// breadth-first order, and returns how many. The roots may be the first of `members`. NO_MEMORY
/// when they do not fit, UNSCANNABLE when a member cannot be decoded: then the closure is not
/// known.
template <class Functions>
Refusal find_closure(const Functions& functions, Span<const u64> roots, Span<u64> members,
                     size_t& count);

/// Room for what runs on every int3: nearly half of it on Debian's kernels; more where calls come
/// through pads.
inline constexpr size_t kMaxTrapPath = 512;

}  // namespace djprobe::x86

#include "../insn/scan.h"

namespace djprobe::x86 {

template <class Functions>
Refusal find_closure(const Functions& functions, Span<const u64> roots, Span<u64> members,
                     size_t& count) {
    count = 0;
    const auto add = [&](u64 address) {
        u64 start;
        if (!functions.start_of(address, start)) return true;
        for (size_t i = 0; i < count; ++i)
            if (members[i] == start) return true;
        if (count == members.size()) return false;
        members[count++] = start;
        return true;
    };
    // Each root is read before its place in `members` can be written: no more members are there
    // than roots were read.
    for (const u64 root : roots)
        if (!add(root)) return Refusal{Reason::NO_MEMORY, root};
    for (size_t next = 0; next < count; ++next) {
        Code code;
        if (!functions.function_at(members[next], code) || functions.is_leaf(code)) continue;
        Refusal full;
        // Padding may stand behind a call that does not return, and behind a jump. A function that
        // ends otherwise goes on in the next one: so do the nops before a function, through which
        // calls come where the CPU's call depth is tracked.
        bool falls_through = true;
        const Refusal scan = for_each_insn(code, code.range().end, [&](const Insn& insn) {
            const bool leaves = insn.rel_size && !code.range().contains(insn.target);
            if (leaves && !add(insn.target)) full = Refusal{Reason::NO_MEMORY, insn.address};
            if (insn.is_terminal() || insn.is_call() || insn.kind == Kind::Trap)
                falls_through = false;
            else if (insn.kind != Kind::Nop && insn.kind != Kind::Int3)
                falls_through = true;
            return !full;
        });
        if (full) return full;
        if (scan) return scan;
        if (falls_through && !add(code.range().end))
            return Refusal{Reason::NO_MEMORY, code.range().end};
    }
    return {};
}

}  // namespace djprobe::x86
