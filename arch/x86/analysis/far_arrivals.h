// SPDX-License-Identifier: GPL-2.0
// Who may land at an address, from anywhere in a text: the kernel-wide half of "nothing lands in
// the JTPR". For branches from the same function see local_arrivals.h.
//
// A compiler moves parts of a function elsewhere (.cold, .part) and those jump back into its
// middle. Rather than trusting symbol names to find them, every 4 bytes of the text are read as if
// they were the displacement of a branch. No direct long branch can escape this, whatever its
// symbol; nor can an address of code that a 4-byte constant gives (lea, mov), which is found
// likewise. Short branches are the neighbours' business (Snapshot). Bytes that only look like a
// branch are found too: looks_like_branch() and find_long_arrival() weed them out.
#pragma once

#include "snapshot.h"

namespace djprobe::x86 {

/// Where in `code` 4 bytes could be a long branch's displacement into `targets`, or a sign-extended
/// address there, or the opcode of an xbegin with 2 bytes of displacement and these: calls
/// found(address of the 4 bytes, target) -> bool (false: enough).
template <class Found>
void find_long_branches(const Code& code, Range targets, Found&& found) {
    if (!targets.size()) return;
    const u8* bytes = code.bytes.data();
    // Nearly all bytes lead nowhere, and the lower half of an address tells so, or does not know:
    // this is done for each byte of a kernel while a first probe waits.
    const u32 begin = static_cast<u32>(targets.begin);
    const u64 size = targets.size() - 1;
    const u32 last = size < ~u32{0} ? static_cast<u32>(size) : ~u32{0};
    u32 from = static_cast<u32>(code.address) + 4 - begin;
    for (size_t i = 0; i + 4 <= code.bytes.size(); ++i, ++from) {
        i32 displacement;
        __builtin_memcpy(&displacement, bytes + i, 4);
        const u32 low = static_cast<u32>(displacement);
        if (low + from > last && low - begin > last && (low & 0xffff) != kXbeginRel16) continue;
        const u64 value = static_cast<u64>(static_cast<i64>(displacement));
        const u64 target = code.address + i + 4 + value;
        if (targets.contains(target) && !found(code.address + i, target)) return;
        if (targets.contains(value) && !found(code.address + i, value)) return;
        const u64 fallback = xbegin_rel16_target(code.address + i, displacement);
        if (fallback && targets.contains(fallback) && !found(code.address + i, fallback)) return;
    }
}

/// Where find_long_branches() finds `insn`; 0: it is no long branch.
constexpr u64 long_branch_field(const Insn& insn) {
    const u64 displacement = insn.address + insn.rel_offset;
    return insn.rel_size == 4 ? displacement : insn.rel_size == 2 ? displacement - 2 : 0;
}

/// Whether the bytes before bytes[i] allow what find_long_branches() has found there, a way to
/// `target`, to be one that find_long_arrival() would confirm. In the text an int3 may be in the
/// place of its first byte. True for the first few bytes, before which nothing is known.
constexpr bool looks_like_branch(const Code& code, u64 field, u64 target) {
    const size_t i = field - code.address;
    if (i < 2) return true;
    const u8* const bytes = code.bytes.data() + i;
    // An address of its own: anything may hold one.
    i32 value;
    __builtin_memcpy(&value, bytes, 4);
    if (static_cast<u64>(static_cast<i64>(value)) == target) return true;
    if (xbegin_rel16_target(field, value) == target) return true;
    const u8 opcode = bytes[-1], before = bytes[-2];
    const bool call_or_jump = opcode == 0xe8 || opcode == 0xe9;
    const bool conditional = before == 0x0f && opcode >> 4 == 8;
    const bool xbegin = before == 0xc7 && opcode == 0xf8;
    const bool lea = before == 0x8d && (opcode & 0xc7) == 5;  // of disp32(%rip)
    const bool hidden = opcode == kInt3 || before == kInt3;
    return call_or_jump || conditional || xbegin || lea || hidden;
}

/// How the 4 bytes at `field` lead to `target` in `function`, in which they lie: as a branch's
/// displacement (BRANCH_INTO_REGION) or as an address that is taken (POINTER_INTO_REGION), with the
/// instruction in detail[0]; NONE: they only look so. BRANCH_INTO_REGION at the field itself when
/// the function cannot be decoded so far: then nothing is proven.
Refusal find_long_arrival(const Code& function, u64 field, u64 target);

}  // namespace djprobe::x86
