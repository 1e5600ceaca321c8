// SPDX-License-Identifier: GPL-2.0
#include "survey/mainline.h"

#include <Zydis/Decoder.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "base/progress.h"

namespace djprobe::loader {
namespace {

using Means = MainlineVerdict::Kind;
using x86::Insn;
using x86::Landing;

/// Major * 1000 + minor, from "Linux version 6.1.0-...".
int version_of(const KernelImage& image) {
    const auto banner = image.address_of("linux_banner");
    const auto bytes = banner ? image.bytes(*banner, *banner + 32) : std::span<const u8>{};
    const std::string text(bytes.begin(), bytes.end());
    int major = 0, minor = 0;
    if (std::sscanf(text.c_str(), "Linux version %d.%d", &major, &minor) != 2) return 0;
    return major * 1000 + minor;
}

/// Which two-byte opcodes (0f xx) the kernel runs at another address: row xx / 16, bit xx % 16.
constexpr std::uint16_t kTwoByteCopied[16] = {0x034c, 0x8000, 0x000f, 0x0002, 0xffff, 0x0000,
                                              0xcfff, 0xc0f0, 0x0000, 0xffff, 0xbb3b, 0xf8ff,
                                              0xff03, 0xbb2e, 0xbb26, 0x772e};

bool decode_raw(Span<const u8> bytes, ZydisDecodedInstruction& raw) {
    ZydisDecoder decoder;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    return ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(
        &decoder, nullptr, bytes.data(), std::min<std::size_t>(bytes.size(), 15), &raw));
}

/// Whether one-byte opcodes may be copied into a detour; the groups only since 6.9.
bool one_byte_copied(const ZydisDecodedInstruction& raw, bool groups) {
    const u8 opcode = raw.opcode;
    const u8 reg = raw.raw.modrm.reg;
    if ((opcode & 0xf0) == 0x70 || (opcode & 0xfc) == 0xe0 || (opcode & 0xf8) == 0xd8) return false;
    switch (opcode) {
        case 0x62:
        case 0x9a:
        case 0xcc:
        case 0xcd:
        case 0xce:
        case 0xd6:
        case 0xe8:
        case 0xe9:
        case 0xeb:
        case 0xf4:
            return false;
        case 0xc0:
        case 0xc1:
        case 0xd0:
        case 0xd1:
        case 0xd2:
        case 0xd3:
            return groups && reg != 6;
        case 0xf6:
        case 0xf7:
            return groups && reg != 1;
        case 0xfe:
            return groups && reg <= 1;
        case 0xff:
            return reg == 4 || (groups && reg <= 1);
        default:
            return true;
    }
}

bool is_copied(const ZydisDecodedInstruction& raw, bool groups) {
    if (raw.opcode_map == ZYDIS_OPCODE_MAP_0F && raw.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY)
        return kTwoByteCopied[raw.opcode >> 4] >> (raw.opcode & 15) & 1;
    const bool one_byte = raw.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT ||
                          raw.encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY;
    if (!one_byte) return false;
    for (u8 i = 0; i < raw.raw.prefix_count; ++i)
        if (raw.raw.prefixes[i].value == 0x2e || raw.raw.prefixes[i].value == 0x67) return false;
    return one_byte_copied(raw, groups);
}

/// jmp, jcc and the loops: the branches that mainline looks for. Not calls.
bool is_seen_branch(x86::Kind kind) {
    return kind == x86::Kind::Jump || kind == x86::Kind::CondJump || kind == x86::Kind::CounterJump;
}

MainlineVerdict refused(const char* rule, std::uint64_t at = 0) {
    return {Means::Refused, rule, at};
}
MainlineVerdict int3(const char* rule, std::uint64_t at = 0) {
    return {Means::Int3, rule, at};
}

}  // namespace

const char* mainline_name(Means kind) {
    static constexpr const char* names[] = {"jump", "int3", "ftrace", "refused"};
    return names[static_cast<int>(kind)];
}

Mainline::Mainline(const KernelImage& image, const TextMap& map)
    : map_(map), functions_(map.functions().size()) {
    const int version = version_of(image);
    checks_indirect_ = version < 6006 || !map.facts().no_jump_tables;
    copies_groups_ = version >= 6009;
    thunks_ = {image.address_of("__indirect_thunk_start").value_or(0),
               image.address_of("__indirect_thunk_end").value_or(0)};
    entry_ = {image.address_of("__entry_text_start").value_or(0),
              image.address_of("__entry_text_end").value_or(0)};
    // Boot removes return thunks where the CPU needs none, which an image from disk cannot show.
    const std::uint64_t return_thunk =
        image.is_live() ? 0 : image.address_of("__x86_return_thunk").value_or(0);
    Progress progress("looking for indirect jumps", functions_.size());
    for (std::size_t i = 0; i < functions_.size(); ++i) {
        progress.at(i);
        const TextMap::Function& function = map.functions()[i];
        if (function.real_end == 0) continue;
        Function& known = functions_[i];
        (void)x86::for_each_insn(function.code, function.code.range().end, [&](const Insn& insn) {
            const bool thunk = version < 6006 && is_seen_branch(insn.kind) &&
                               insn.target != return_thunk && insn.target >= thunks_.begin &&
                               insn.target <= thunks_.end && thunks_.size() > 0;
            if (insn.kind == x86::Kind::IndirectJump || thunk)
                if (!known.indirect_jump) known.indirect_jump = insn.address;
            return true;
        });
    }
    for (const x86::Reserved& reserved : map.facts().reserved) {
        if (reserved.reason != Reason::EXTABLE_INSN) continue;
        const std::size_t index = map.find(reserved.range.begin);
        if (index < functions_.size() && map.is_insn_start(reserved.range.begin))
            functions_[index].fixup = reserved.range.begin;
    }
}

bool Mainline::is_reserved(Range range, Reason& reason) const {
    const x86::Reserved* owner = TextMap::Surroundings(map_, 0).reserved(range);
    if (!owner) return false;
    reason = owner->reason;
    return true;
}

MainlineVerdict Mainline::can_probe(std::size_t index, std::uint64_t site) const {
    const TextMap::Function& function = map_.functions()[index];
    if (function.blacklisted) return refused("kprobe blacklist");
    if (function.undecodable && site >= function.undecodable.detail[0])
        return refused("the function cannot be decoded so far", function.undecodable.detail[0]);
    if (!map_.is_insn_start(site)) return refused("not an instruction boundary");
    ZydisDecodedInstruction raw;
    const Span<const u8> bytes = function.code.from(site);
    if (!decode_raw(bytes, raw)) return refused("undecodable", site);
    Reason owner;
    if (is_reserved({site, site + raw.length}, owner)) {
        if (owner == Reason::JUMP_LABEL) return refused("jump label", site);
        if (owner == Reason::STATIC_CALL) return refused("static call", site);
        if (owner == Reason::FTRACE_SITE) return {Means::Ftrace, "the ftrace call", site};
    }
    Insn insn;
    (void)x86::decode(bytes, site, insn);
    // Any other ud2 belongs to an emulate prefix.
    if (insn.kind == x86::Kind::Trap || insn.kind == x86::Kind::Int3 ||
        raw.mnemonic == ZYDIS_MNEMONIC_UD2)
        return refused("BUG, ud or int3", site);
    const bool group5 = raw.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && raw.opcode == 0xff;
    if (group5 && (raw.raw.modrm.reg == 3 || raw.raw.modrm.reg == 5))
        return refused("far branch", site);
    if (group5 && (raw.raw.modrm.reg == 2 || raw.raw.modrm.reg == 4) && raw.raw.modrm.mod != 3)
        return refused("a call or jmp through memory, which it cannot emulate", site);
    if (raw.mnemonic == ZYDIS_MNEMONIC_IRETQ || raw.mnemonic == ZYDIS_MNEMONIC_IRETD)
        return refused("iret", site);
    if (raw.opcode_map == ZYDIS_OPCODE_MAP_0F && raw.opcode == 0x01 && raw.raw.modrm.reg == 0 &&
        raw.raw.modrm.mod == 3)
        return refused("VM extension", site);
    if (insn.kind == x86::Kind::InterruptShadow && raw.mnemonic != ZYDIS_MNEMONIC_STI)
        return refused("masks exceptions", site);
    return {Means::Jump, "", 0};
}

MainlineVerdict Mainline::can_optimize(std::size_t index, std::uint64_t site) const {
    const TextMap::Function& function = map_.functions()[index];
    if (entry_.contains(site)) return int3("entry text");
    if (function.code.range().end - site < x86::kJumpLength)
        return int3("fewer than 5 bytes up to the end of the symbol");
    if (functions_[index].fixup)
        return int3("an exception-table entry anywhere in the function", functions_[index].fixup);
    if (function.undecodable)
        return int3("the function cannot be decoded", function.undecodable.detail[0]);
    if (checks_indirect_ && functions_[index].indirect_jump)
        return int3("an indirect jump anywhere in the function", functions_[index].indirect_jump);
    for (const Landing& landing : map_.arrivals({site + 1, site + x86::kJumpLength + 1})) {
        if (landing.reason != Reason::BRANCH_INTO_REGION) continue;
        Insn branch;
        // Only the function's own symbol is looked at: a .cold part is not.
        const Span<const u8> bytes = function.code.from(landing.source);
        if (!bytes.empty() && x86::decode(bytes, landing.source, branch) &&
            is_seen_branch(branch.kind))
            return int3(landing.target == site + x86::kJumpLength
                            ? "a jump right behind the 5 bytes, which would be harmless"
                            : "a jump into the 5 bytes",
                        landing.source);
    }
    return {Means::Jump, "", 0};
}

MainlineVerdict Mainline::can_copy(std::size_t index, std::uint64_t site) const {
    const TextMap::Function& function = map_.functions()[index];
    std::uint64_t at = site;
    while (at < site + x86::kJumpLength) {
        ZydisDecodedInstruction raw;
        const Span<const u8> bytes = function.code.from(at);
        if (bytes.empty() || !decode_raw(bytes, raw)) return int3("undecodable", at);
        if (!is_copied(raw, copies_groups_))
            return int3("an instruction that it does not copy", at);
        at += raw.length;
    }
    Reason owner;
    for (std::uint64_t byte = site; byte < at; ++byte)
        if (is_reserved({byte, byte + 1}, owner) &&
            (owner == Reason::FTRACE_SITE || owner == Reason::JUMP_LABEL ||
             owner == Reason::STATIC_CALL))
            return int3("an instruction inside the 5 bytes is reserved", byte);
    return {Means::Jump, "none stands against it", 0};
}

MainlineVerdict Mainline::judge(std::size_t function, std::uint64_t site) const {
    const MainlineVerdict probe = can_probe(function, site);
    if (probe.kind != Means::Jump) return probe;
    const MainlineVerdict optimize = can_optimize(function, site);
    if (optimize.kind != Means::Jump) return optimize;
    return can_copy(function, site);
}

}  // namespace djprobe::loader
