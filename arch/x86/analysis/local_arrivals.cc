// SPDX-License-Identifier: GPL-2.0
#include "local_arrivals.h"

#include "../insn/scan.h"

namespace djprobe::x86 {
namespace {

bool is_short_branch(u8 opcode) {
    return opcode >> 4 == 7 || opcode == 0xeb || opcode >> 2 == 0xe0 >> 2;
}

constexpr u64 kOnes = 0x0101010101010101;

/// Whether one of 8 bytes is `byte`.
bool any_byte(u64 bytes, u8 byte) {
    const u64 differing = bytes ^ (kOnes * byte);
    return ((differing - kOnes) & ~differing & (kOnes << 7)) != 0;
}

/// Whether bytes of `code` could be an xbegin with 2 bytes of displacement. Hardly ever.
bool may_have_xbegin_rel16(const Code& code) {
    const u8* bytes = code.bytes.data();
    const size_t size = code.bytes.size();
    for (size_t i = 0; i < size; i += 8) {
        u64 some = 0;
        if (i + 8 <= size) {
            __builtin_memcpy(&some, bytes + i, 8);
            if (!any_byte(some, 0xf8)) continue;
        }
        for (size_t at = i ? i : 1; at < size && at < i + 8; ++at)
            if (bytes[at] == 0xf8 && bytes[at - 1] == 0xc7) return true;
    }
    return false;
}

i32 read_displacement(const u8* bytes) {
    i32 displacement;
    __builtin_memcpy(&displacement, bytes, 4);
    return displacement;
}

/// One behind the last of the first `count` numbers for which `is` holds, or 0. Four at a time,
/// because every byte of a function is asked about.
template <class Is>
[[gnu::always_inline]] inline size_t last_that(size_t count, Is&& is) {
    for (; count % 4; --count)
        if (is(count - 1)) return count;
    for (; count; count -= 4) {
        if (is(count - 1)) return count;
        if (is(count - 2)) return count - 1;
        if (is(count - 3)) return count - 2;
        if (is(count - 4)) return count - 3;
    }
    return 0;
}

/// One behind where the last 4 bytes begin that could be the displacement of a direct branch into
/// `targets`, or 0. A displacement always ends its instruction.
size_t find_last_long(const Code& code, Range targets) {
    const u8* bytes = code.bytes.data();
    if (code.bytes.size() < 4) return 0;
    // All of it in 32 bits, as far as they decide.
    const u32 distance = static_cast<u32>(targets.begin - code.address - 4);
    const u32 size = static_cast<u32>(targets.size());
    return last_that(code.bytes.size() - 3, [=](size_t i) {
        return static_cast<u32>(read_displacement(bytes + i)) + static_cast<u32>(i) - distance <
               size;
    });
}

/// The same for the 2 bytes of an xbegin's.
size_t find_last_xbegin(const Code& code, Range targets) {
    if (!may_have_xbegin_rel16(code)) return 0;
    const u8* bytes = code.bytes.data();
    size_t end = 0;
    for (size_t i = 0; i + 4 <= code.bytes.size(); ++i) {
        const u64 fallback = xbegin_rel16_target(code.address + i, read_displacement(bytes + i));
        if (fallback && targets.contains(fallback)) end = i + 1;
    }
    return end;
}

/// The same for an opcode with one byte of displacement, which does not reach far.
size_t find_last_short(const Code& code, Range targets) {
    const u8* bytes = code.bytes.data();
    const Range range = code.range();
    const u64 low = targets.begin - kShortReach, high = targets.end + kShortReach;
    const u64 from = low > range.begin ? low : range.begin;
    const u64 until = high < range.end ? high : range.end;
    if (until < from + 2) return 0;
    const size_t first = from - range.begin;
    bytes += first;
    // As above.
    const u32 distance = static_cast<u32>(targets.begin - from - 2);
    const u32 size = static_cast<u32>(targets.size());
    const size_t last = last_that(until - from - 1, [=](size_t i) {
        const u64 offset = i + static_cast<u64>(static_cast<i64>(static_cast<i8>(bytes[i + 1])));
        return static_cast<u32>(offset) - distance < size && is_short_branch(bytes[i]);
    });
    return last ? first + last : 0;
}

constexpr size_t larger(size_t one, size_t other) {
    return one > other ? one : other;
}

/// Whether the ModRM byte behind opcode ff makes it a jump: /4, and from memory the far /5.
bool is_indirect_jump(u8 modrm) {
    const u8 reg = modrm >> 3 & 7;
    return reg == 4 || (reg == 5 && modrm >> 6 != 3);
}

/// Whether bytes[i] could be the first of an opcode of an indirect jump, or of one through a thunk.
bool may_be_indirect_jump(const Code& function, const IndirectThunks& thunks, size_t i) {
    const u8* bytes = function.bytes.data() + i;
    const size_t left = function.bytes.size() - i;
    const u64 at = function.address + i;
    const auto leads_to_thunk = [&](size_t opcode) {
        if (opcode + 4 > left) return false;
        const i64 displacement = read_displacement(bytes + opcode);
        return thunks.contains(at + opcode + 4 + static_cast<u64>(displacement));
    };
    if (left < 2) return false;
    if (bytes[0] == 0xff) return is_indirect_jump(bytes[1]);
    if (bytes[0] == 0xe9) return leads_to_thunk(1);
    if (bytes[0] == 0x0f) return bytes[1] >> 4 == 8 && leads_to_thunk(2);
    return is_short_branch(bytes[0]) &&
           thunks.contains(at + 2 + static_cast<u64>(static_cast<i64>(static_cast<i8>(bytes[1]))));
}

/// First bytes of opcodes that may_be_indirect_jump() must look at.
struct JumpOpcodes {
    bool of[256] = {};

    constexpr JumpOpcodes() {
        for (unsigned int byte = 0; byte < 256; ++byte)
            of[byte] = byte == 0xff || byte == 0xe9 || byte == 0x0f || byte == 0xeb ||
                       byte >> 4 == 7 || byte >> 2 == 0xe0 >> 2;
    }
};
constexpr JumpOpcodes kJumpOpcodes;

/// Behind which address no byte of `function` could begin an indirect jump or one through a thunk.
u64 end_of_indirect_jumps(const Code& function, const IndirectThunks& thunks) {
    const u8* bytes = function.bytes.data();
    return function.address + last_that(function.bytes.size(), [&](size_t i) {
               return kJumpOpcodes.of[bytes[i]] && may_be_indirect_jump(function, thunks, i);
           });
}

bool is_through_thunk(const Insn& insn, const IndirectThunks& thunks) {
    return (insn.kind == Kind::Jump || insn.kind == Kind::CondJump) && thunks.contains(insn.target);
}

/// Whether there is one at all. Decodes no farther than it must.
Refusal look_for_indirect_jump(const Snapshot& snapshot, bool& found) {
    const Code& function = snapshot.function;
    const u64 stop = end_of_indirect_jumps(function, snapshot.indirect_thunks);
    found = false;
    return for_each_insn(function, stop, [&](const Insn& insn) {
        found = insn.kind == Kind::IndirectJump || is_through_thunk(insn, snapshot.indirect_thunks);
        return !found;
    });
}

}  // namespace

Refusal find_branch_into(const Code& code, Range targets) {
    // Decoding is what an analysis spends its time on, and hardly ever needed.
    const size_t last = larger(find_last_long(code, targets), find_last_xbegin(code, targets));
    const u64 stop = code.address + larger(last, find_last_short(code, targets));
    Refusal found;
    const Refusal scan = for_each_insn(code, stop, [&](const Insn& insn) {
        // An xbegin's fallback address is a branch target like any other.
        if (insn.rel_size && targets.contains(insn.target))
            found = Refusal{Reason::BRANCH_INTO_REGION, insn.address, insn.target};
        return !found;
    });
    return found ? found : scan;
}

bool may_branch_short(const Code& code, Range targets) {
    return find_last_short(code, targets) != 0;
}

bool find_targets(const Code& code, Span<u64> bits) {
    const Range range = code.range();
    const Span<const Insn> all = code.known ? code.known->all() : Span<const Insn>{};
    if (all.empty() || range.size() > bits.size() * 64) return false;
    if (all[all.size() - 1].end() != range.end) return false;
    for (size_t i = 0; i * 64 < range.size(); ++i)
        bits[i] = 0;
    for (const Insn& insn : all) {
        if (!insn.rel_size || !range.contains(insn.target)) continue;
        const u64 at = insn.target - range.begin;
        bits[at / 64] |= u64{1} << at % 64;
    }
    return true;
}

Refusal find_indirect_jump(const Snapshot& snapshot) {
    const Code& function = snapshot.function;
    bool any = false;
    const Refusal undecoded = look_for_indirect_jump(snapshot, any);
    if (!any) return undecoded;
    const Range inside = {function.address + 1, function.range().end};
    Refusal jump;
    bool through_memory = false;
    bool takes_inside = false;
    const Refusal scan = for_each_insn(function, function.range().end, [&](const Insn& insn) {
        const bool thunk = is_through_thunk(insn, snapshot.indirect_thunks);
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
