// SPDX-License-Identifier: GPL-2.0
#include "survey/disasm.h"

#include <Zydis/Zydis.h>
#include <fmt/core.h>

#include "../../arch/x86/insn/decode.h"

namespace djprobe::loader {
namespace {

std::string format(Span<const u8> bytes, std::uint64_t address) {
    ZydisDecoder decoder;
    ZydisFormatter formatter;
    ZydisDecodedInstruction insn;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_ATT);
    ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_FORCE_SIZE, ZYAN_TRUE);
    ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE);
    for (const auto property :
         {ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE, ZYDIS_FORMATTER_PROP_ADDR_PADDING_RELATIVE,
          ZYDIS_FORMATTER_PROP_DISP_PADDING, ZYDIS_FORMATTER_PROP_IMM_PADDING})
        ZydisFormatterSetProperty(&formatter, property, ZYDIS_PADDING_DISABLED);
    char text[256];
    if (!ZYAN_SUCCESS(
            ZydisDecoderDecodeFull(&decoder, bytes.data(), bytes.size(), &insn, operands)) ||
        !ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&formatter, &insn, operands,
                                                      insn.operand_count_visible, text, sizeof text,
                                                      address, nullptr)))
        return "(bad)";
    return text;
}

}  // namespace

std::string disassemble(Span<const u8> bytes, std::uint64_t address, const Describe& describe,
                        std::size_t& length) {
    x86::Insn insn;
    length = 1;
    if (!x86::decode(bytes, address, insn)) return "(bad)";
    length = insn.length;
    std::string text = format(bytes.first(length), address);
    std::uint64_t refers = insn.rel_size ? insn.target : 0;
    if (insn.rip_disp_offset) {
        i32 displacement;
        __builtin_memcpy(&displacement, bytes.from(insn.rip_disp_offset).data(), 4);
        refers = insn.end() + static_cast<u64>(i64{displacement});
    }
    const std::string name = refers ? describe(refers) : "";
    return name.empty() ? text : fmt::format("{}  <{}>", text, name);
}

std::string hex_bytes(Span<const u8> bytes) {
    std::string text;
    for (const u8 byte : bytes)
        text += fmt::format("{}{:02x}", text.empty() ? "" : " ", byte);
    return text;
}

}  // namespace djprobe::loader
