// SPDX-License-Identifier: GPL-2.0
#include "second/compare.h"

#include <cstdio>
#include <cstring>

#include "support/same_insn.h"

namespace djprobe::test {
namespace {

using x86::Insn;
using x86::Kind;
using Flow = Other::Flow;

Flow flow_of(Kind kind) {
    switch (kind) {
        case Kind::Plain:
        case Kind::Nop:
            return Flow::Falls;
        case Kind::Jump:
            return Flow::Jump;
        case Kind::CondJump:
            return Flow::CondJump;
        case Kind::CounterJump:
            return Flow::CounterJump;
        case Kind::Call:
            return Flow::Call;
        case Kind::IndirectJump:
            return Flow::IndirectJump;
        case Kind::IndirectCall:
            return Flow::IndirectCall;
        case Kind::Return:
            return Flow::Return;
        case Kind::Int3:
            return Flow::Int3;
        case Kind::Trap:
            return Flow::Trap;
        case Kind::Endbr:
            return Flow::Endbr;
        case Kind::InterruptShadow:
            return Flow::Shadow;
        case Kind::SystemFlow:
            return Flow::System;
        case Kind::Transaction:
            return Flow::Transaction;
    }
    return Flow::Falls;
}

i64 displacement_at(const u8* field) {
    i32 value;
    std::memcpy(&value, field, sizeof(value));
    return value;
}

/// The first thing that differs, or nullptr. Both must be valid.
const char* difference(const u8* bytes, const Insn& mine, const Other& other) {
    if (mine.length != other.length) return "length";
    const Flow flow = flow_of(mine.kind);
    // Ours does not tell far branches from other system instructions; both are refused.
    const bool same_flow = flow == other.flow || (flow == Flow::System && other.flow == Flow::Far);
    if (!same_flow) return "kind";
    if ((mine.rel_size != 0) != other.direct) return "direct";
    if (other.direct && mine.target != other.target) return "target";
    if ((mine.rip_disp_offset != 0) != other.rip_relative) return "rip-relative";
    if (other.rip_relative && displacement_at(bytes + mine.rip_disp_offset) != other.displacement)
        return "displacement";
    if (other.eip && !mine.immovable) return "eip-relative, but movable";
    if (other.flow == Flow::IndirectCall && other.on_stack != mine.stack_relative)
        return "stack-relative";
    return nullptr;
}

const LlvmDecoder& llvm() {
    static const LlvmDecoder decoder;
    return decoder;
}

bool is_legacy_prefix(u8 byte) {
    return std::memchr("\x66\x67\xf0\xf2\xf3\x2e\x36\x3e\x26\x64\x65", byte, 11) != nullptr;
}
bool is_rex(u8 byte) {
    return byte >> 4 == 4;
}

/// The bytes but for REX prefixes that stand before another prefix, which the CPU ignores (Intel
/// SDM vol. 2, 2.2.1); returns how many those are.
size_t drop_ignored_rex(Span<const u8> bytes, u8* out) {
    size_t ignored = 0, at = 0;
    for (; at + 1 < bytes.size(); ++at) {
        const bool before_prefix = is_legacy_prefix(bytes[at + 1]) || is_rex(bytes[at + 1]);
        if (is_rex(bytes[at]) && before_prefix)
            ++ignored;
        else if (is_legacy_prefix(bytes[at]))
            *out++ = bytes[at];
        else
            break;
    }
    std::memcpy(out, bytes.data() + at, bytes.size() - at);
    return ignored;
}

/// LLVM's answer in terms of whole instructions. It does not know ignored REX prefixes, which are
/// left out, and takes a legacy prefix that the instruction does not use for one of its own, which
/// is joined.
void decode_whole(Span<const u8> bytes, u64 address, Other& out) {
    u8 without[x86::kMaxInsnLength + 1];
    const size_t ignored = drop_ignored_rex(bytes, without);
    size_t joined = 0;
    do {
        const Span<const u8> rest{without + joined, bytes.size() - ignored - joined};
        llvm().decode(rest, address + ignored + joined, out);
        joined += out.length;
    } while (out.valid && out.name.ends_with("_PREFIX"));
    out.length = static_cast<u8>(joined + ignored);
}

/// Behind the prefixes.
const u8* opcode_of(const u8* bytes) {
    while (is_legacy_prefix(*bytes) || is_rex(*bytes))
        ++bytes;
    return bytes;
}

/// Prefixes that instructions may ignore.
constexpr u8 kIgnorable[] = {0x66, 0x67, 0xf2, 0xf3};
constexpr unsigned kWide = 1u << sizeof(kIgnorable);  ///< REX.W

/// An instruction of `length` bytes without some of the ignorable prefixes; returns the new length,
/// 0 when it does not have all of them.
u8 leave_out(const u8* bytes, u8 length, unsigned which, u8* out) {
    const u8* const opcode = opcode_of(bytes);
    unsigned found = 0;
    u8 left = 0;
    for (const u8* p = bytes; p != bytes + length; ++p) {
        unsigned bit = 0;
        for (unsigned i = 0; p < opcode && i < sizeof(kIgnorable); ++i)
            if (*p == kIgnorable[i]) bit = 1u << i;
        if (p < opcode && is_rex(*p) && *p & 8) bit = kWide;
        found |= bit;
        if (!(bit & which))
            out[left++] = *p;
        else if (bit == kWide)
            out[left++] = *p & 0xf7;
    }
    return (found & which) == which ? left : u8{0};
}

/// LLVM agrees when some prefixes are left out.
bool is_same_without_prefixes(const u8* bytes, const Insn& mine) {
    u8 whole[x86::kMaxInsnLength + 1], changed[x86::kMaxInsnLength + 1];
    const size_t ignored = drop_ignored_rex({bytes, mine.length}, whole);
    for (unsigned which = 1; which < 2 * kWide; ++which) {
        Insn less = mine;
        less.length = leave_out(whole, static_cast<u8>(mine.length - ignored), which, changed);
        if (!less.length) continue;
        Other other;
        decode_whole({changed, less.length}, mine.end() - less.length, other);
        if (less.rip_disp_offset)
            less.rip_disp_offset =
                static_cast<u8>(mine.rip_disp_offset + less.length - mine.length);
        if (other.valid && !difference(changed, less, other)) return true;
    }
    return false;
}

/// LLVM agrees when EVEX.W, L'L and b, or X and B of a mask register, are what its tables list.
bool is_same_with_ignored_bits(const u8* bytes, const Insn& mine) {
    u8 changed[x86::kMaxInsnLength] = {};
    std::memcpy(changed, bytes, mine.length);
    u8* const op = changed + (opcode_of(bytes) - bytes);
    if (op[0] == 0x62) {
        op[1] |= 0x60;
        op[2] &= 0x7f;
        op[3] &= 0x8f;
    } else if (op[0] == 0xc4) {
        op[1] |= 0x60;
    } else {
        return false;
    }
    Other other;
    decode_whole({changed, mine.length}, mine.address, other);
    return (other.valid && !difference(changed, mine, other)) ||
           is_same_without_prefixes(changed, mine);
}

/// A disagreement that is known, why it is one, and why it does no harm.
struct Explained {
    const char* name;
    bool (*applies)(const char* what, const u8* bytes, const Insn* mine, const Other& other);
};

const Explained kExplained[] = {
    {"only LLVM accepts it: refused by us as undecodable, the safe side",
     [](const char*, const u8*, const Insn* mine, const Other&) { return !mine; }},
    {"near branch with an operand-size prefix: 16-bit for AMD and LLVM; refused as immovable",
     [](const char*, const u8*, const Insn* mine, const Other&) {
         return mine->rel_size != 0 && mine->immovable;
     }},
    {"VMX instruction that goes on (vmread, ...): refused like all of VMX",
     [](const char* what, const u8*, const Insn* mine, const Other& other) {
         return !std::strcmp(what, "kind") && mine->kind == Kind::SystemFlow &&
                other.flow == Flow::Falls;
     }},
    {"reserved nop (0f 0d, 0f 18..1f with any ModRM): a nop to all CPUs, LLVM knows the named ones",
     [](const char*, const u8* bytes, const Insn* mine, const Other& other) {
         const u8* const op = opcode_of(bytes);
         return !other.valid && op[0] == 0x0f && (op[1] == 0x0d || (op[1] & 0xf8) == 0x18) &&
                (mine->kind == Kind::Nop || mine->kind == Kind::Plain);
     }},
    {"mov to or from a control or debug register: the CPU ignores ModRM.mod, LLVM wants 3",
     [](const char*, const u8* bytes, const Insn* mine, const Other& other) {
         const u8* const op = opcode_of(bytes);
         return !other.valid && op[0] == 0x0f && op[1] >= 0x20 && op[1] <= 0x23 &&
                op[2] >> 6 != 3 && op + 3 == bytes + mine->length;
     }},
    {"ud0, int1, VMX with REX.W: only we know them; refused as traps and system instructions",
     [](const char*, const u8*, const Insn* mine, const Other& other) {
         return !other.valid && (mine->kind == Kind::Trap || mine->kind == Kind::SystemFlow);
     }},
    {"ud2 with the signature of an emulate prefix: one with what it prefixes, refused",
     [](const char* what, const u8* bytes, const Insn* mine, const Other&) {
         return !std::strcmp(what, "length") && mine->kind == Kind::SystemFlow &&
                (!std::memcmp(bytes, "\x0f\x0bxen", 5) || !std::memcmp(bytes, "\x0f\x0bkvm", 5));
     }},
    {"prefix that the instruction ignores, but LLVM does not: without it LLVM agrees",
     [](const char*, const u8* bytes, const Insn* mine, const Other&) {
         return is_same_without_prefixes(bytes, *mine);
     }},
    {"vector instruction that ignores some bits of EVEX or VEX, but LLVM does not: without them "
     "LLVM agrees",
     [](const char*, const u8* bytes, const Insn* mine, const Other& other) {
         return !other.valid && is_same_with_ignored_bits(bytes, *mine);
     }},
    {"rdpru: newer than LLVM 14",
     [](const char*, const u8* bytes, const Insn* mine, const Other& other) {
         return !other.valid && mine->kind == Kind::Plain &&
                !std::memcmp(opcode_of(bytes), "\x0f\x01\xfd", 3);
     }},
    {"undocumented alias of shl, test or an x87 instruction: all CPUs run it, LLVM does not know "
     "it",
     [](const char*, const u8* bytes, const Insn* mine, const Other& other) {
         const u8* const op = opcode_of(bytes);
         const u8 reg = op[1] >> 3 & 7;
         const bool shift = (op[0] & 0xfe) == 0xc0 || (op[0] & 0xfc) == 0xd0;
         const bool x87 = (op[0] & 0xf8) == 0xd8 && op[1] >= 0xc0;
         return !other.valid && mine->kind == Kind::Plain &&
                ((shift && reg == 6) || ((op[0] & 0xfe) == 0xf6 && reg == 1) || x87);
     }},
};

}  // namespace

size_t Comparison::add(Span<const u8> bytes, u64 address) {
    Insn mine;
    Other other;
    const bool valid = x86::decode(bytes, address, mine);
    decode_whole(bytes.first(x86::kMaxInsnLength), address, other);
    ++compared_;
    if (!is_short_cut_right(bytes, address)) {
        ++unexplained_;
        ++shown_["the short cut for common instructions, of" +
                 hex(bytes.first(x86::kMaxInsnLength))];
    }
    if (!valid && !other.valid) {
        ++neither_;
        return 1;
    }
    if (valid) ++instructions_;
    if (valid && !other.valid)
        differ("only we accept it", bytes, &mine, other);
    else if (!valid)
        differ("only LLVM accepts it", bytes, nullptr, other);
    else if (const char* what = difference(bytes.data(), mine, other))
        differ(what, bytes, &mine, other);
    return valid ? mine.length : 1u;
}

void Comparison::differ(const char* what, Span<const u8> bytes, const Insn* mine,
                        const Other& other) {
    for (const Explained& explained : kExplained)
        if (explained.applies(what, bytes.data(), mine, other)) {
            ++explained_[explained.name];
            return;
        }
    ++unexplained_;
    constexpr u64 kShown = 3;
    constexpr size_t kKinds = 60;
    const std::string key = std::string(what) + " " + other.name;
    if (shown_.size() >= kKinds && !shown_.contains(key)) return;
    if (++shown_[key] > kShown) return;
    std::printf("  DIFFERS %s: we %d bytes kind %d, LLVM %d bytes %s:", what,
                mine ? mine->length : 0, mine ? static_cast<int>(mine->kind) : -1, other.length,
                other.name.c_str());
    std::printf("%s\n", hex(bytes.first(x86::kMaxInsnLength)).c_str());
}

bool Comparison::report() const {
    std::printf("  %lu compared: %lu instructions, %lu that both refuse, %lu differ unexplained\n",
                compared_, instructions_, neither_, unexplained_);
    for (const auto& [name, count] : explained_)
        std::printf("  %9lu %s\n", count, name);
    for (const auto& [key, count] : shown_)
        std::printf("  unexplained: %s: %lu\n", key.c_str(), count);
    return unexplained_ == 0 && instructions_ > 0;
}

}  // namespace djprobe::test
