// SPDX-License-Identifier: GPL-2.0
#include "decode/hexdump.h"

#include <algorithm>

#include "decode/hex.h"

namespace djprobe::loader {
namespace {

constexpr std::size_t kBytesPerLine = 16;

}  // namespace

void append_hex(Buffer& out, std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes)
        append_hex_byte(out, std::to_integer<std::uint8_t>(byte));
}

void append_hexdump(Buffer& out, std::span<const std::byte> bytes) {
    for (std::size_t at = 0; at < bytes.size(); at += kBytesPerLine) {
        const auto line = bytes.subspan(at, std::min(kBytesPerLine, bytes.size() - at));
        fmt::format_to(fmt::appender(out), "  {:04x} ", at);
        for (std::size_t i = 0; i < kBytesPerLine; ++i) {
            if (i < line.size()) {
                out.push_back(' ');
                append_hex_byte(out, std::to_integer<std::uint8_t>(line[i]));
            } else {
                fmt::format_to(fmt::appender(out), "   ");
            }
        }
        fmt::format_to(fmt::appender(out), "  |");
        for (const std::byte byte : line) {
            const auto character = std::to_integer<char>(byte);
            out.push_back(character >= 0x20 && character < 0x7f ? character : '.');
        }
        fmt::format_to(fmt::appender(out), "|\n");
    }
}

}  // namespace djprobe::loader
