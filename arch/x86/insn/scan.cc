// SPDX-License-Identifier: GPL-2.0
#include "scan.h"

namespace djprobe::x86 {
namespace {

bool is_padding(const Insn& insn, Span<const u8> bytes) {
    // Linkers fill with zeros, which decode as `add %al,(%rax)`.
    return insn.kind == Kind::Int3 || insn.kind == Kind::Nop ||
           (insn.length == 2 && bytes[0] == 0 && bytes[1] == 0);
}

/// The bytes of int3, of zeros and of the nops that compilers and linkers pad with.
bool may_be_padding(u8 byte) {
    switch (byte) {
        case kInt3:
        case 0x00:
        case 0x0f:
        case 0x1f:
        case 0x2e:
        case 0x40:
        case 0x44:
        case 0x66:
        case 0x80:
        case 0x84:
        case 0x90:
            return true;
        default:
            return false;
    }
}

/// The index of the first of `insns` that does not begin before `address`.
size_t first_from(Span<const Insn> insns, u64 address) {
    return djprobe::first_from(insns, address, [](const Insn& insn) { return insn.address; });
}

}  // namespace

bool know_more(const Code& code) {
    KnownInsns* const known = code.known;
    if (!known || known->count == known->room.size()) return false;
    const u64 at = known->count ? known->room[known->count - 1].end() : code.address;
    if (!decode(code.from(at), at, known->room[known->count])) return false;
    ++known->count;
    return true;
}

bool insn_at(const Code& code, u64 at, Insn& out) {
    if (code.known) {
        const Span<const Insn> all = code.known->all();
        const size_t first = first_from(all, at);
        if (first < all.size() && all[first].address == at) {
            out = all[first];
            return true;
        }
    }
    return decode(code.from(at), at, out);
}

Refusal find_boundary(const Code& function, u64 address, Boundary& out) {
    out = {function.address, function.range().end};
    if (function.known) {
        const Span<const Insn> all = function.known->all();
        const size_t behind = first_from(all, address + 1);
        if (behind && all[behind - 1].end() > address) {
            out = {all[behind - 1].address, all[behind - 1].end()};
            return {};
        }
    }
    return for_each_insn(function, address + 1, [&](const Insn& insn) {
        out = {insn.address, insn.end()};
        return insn.end() <= address;
    });
}

Range replaced_bytes(const Code& function, u64 site) {
    u64 end = site + kJumpLength;
    // A refusal only means that the bytes cannot be displaced anyway.
    (void)for_each_insn(Code{site, function.from(site)}, end, [&](const Insn& insn) {
        if (insn.end() > end) end = insn.end();
        return true;
    });
    return {site + 1, end};
}

bool is_past_end(const Code& function, u64 address) {
    u64 certain = function.range().end;
    while (certain > function.address &&
           may_be_padding(function.bytes[certain - 1 - function.address]))
        --certain;
    return address >= certain && address >= real_end(function);
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
    bool dead = false, guarded = false;
    const Refusal refusal = for_each_insn(function, function.range().end, [&](const Insn& insn) {
        if (is_padding(insn, function.from(insn.address))) return true;
        padding.begin = insn.end();
        // After a call control continues, unless the callee is known not to return: not known here.
        dead = insn.is_terminal() || insn.kind == Kind::Trap;
        guarded = insn.is_terminal();
        return true;
    });
    if (refusal || !dead) return {};
    // A CPU may run straight ahead behind a return or a jump before it knows where that leads. An
    // int3 stops it there, and must stay.
    const Span<const u8> behind = function.from(padding.begin);
    if (guarded && !behind.empty() && behind[0] == kInt3) ++padding.begin;
    // No compiler and no linker promises to leave zeros alone.
    padding.end = padding.begin;
    (void)for_each_insn(function, function.range().end, [&](const Insn& insn) {
        const bool filler = insn.kind == Kind::Int3 || (insn.kind == Kind::Nop && insn.length > 1);
        if (insn.address == padding.end && filler) padding.end = insn.end();
        return true;
    });
    return padding;
}

}  // namespace djprobe::x86
