// SPDX-License-Identifier: GPL-2.0
#include "decode/quote.h"

#include <cstddef>

#include "decode/hex.h"

namespace djprobe::loader {
namespace {

using namespace std::string_view_literals;

bool is_plain(unsigned char byte) {
    return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
}

// Length of the well-formed UTF-8 sequence (table 3-7 of the Unicode standard) that bytes begin
// with, 0 if there is none.
std::size_t utf8_length(std::string_view bytes) {
    const auto at = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
    const unsigned char lead = at(0);
    const std::size_t length = lead < 0x80                   ? 1
                               : lead >= 0xc2 && lead < 0xe0 ? 2
                               : lead >= 0xe0 && lead < 0xf0 ? 3
                               : lead >= 0xf0 && lead < 0xf5 ? 4
                                                             : 0;
    if (length == 0 || bytes.size() < length) return 0;
    for (std::size_t i = 1; i < length; ++i) {
        if ((at(i) & 0xc0) != 0x80) return 0;
    }
    // Overlong forms, surrogates, beyond U+10FFFF.
    if (lead == 0xe0 && at(1) < 0xa0) return 0;
    if (lead == 0xed && at(1) >= 0xa0) return 0;
    if (lead == 0xf0 && at(1) < 0x90) return 0;
    if (lead == 0xf4 && at(1) >= 0x90) return 0;
    return length;
}

// U+0080..U+009F: terminals may take them for commands.
bool is_c1_control(std::string_view sequence) {
    return sequence.size() == 2 && sequence[0] == '\xc2' &&
           static_cast<unsigned char>(sequence[1]) < 0xa0;
}

void append_hex(Buffer& out, std::string_view prefix, unsigned char byte) {
    out.append(prefix);
    append_hex_byte(out, byte);
}

void append_ascii_escape(Buffer& out, unsigned char byte, Format format) {
    switch (byte) {
        case '"':
            return out.append("\\\""sv);
        case '\\':
            return out.append("\\\\"sv);
        case '\n':
            return out.append("\\n"sv);
        case '\t':
            return out.append("\\t"sv);
        case '\r':
            return out.append("\\r"sv);
        default:
            return append_hex(out, format == Format::kJson ? "\\u00" : "\\x", byte);
    }
}

void append_escaped(Buffer& out, std::string_view bytes, Format format) {
    const std::string_view bad_byte = format == Format::kJson ? "\\\\x" : "\\x";
    while (!bytes.empty()) {
        const auto byte = static_cast<unsigned char>(bytes[0]);
        std::size_t length = utf8_length(bytes);
        if (is_plain(byte)) {
            out.push_back(bytes[0]);
        } else if (length == 1) {
            append_ascii_escape(out, byte, format);
        } else if (length == 2 && format == Format::kJson && is_c1_control(bytes.substr(0, 2))) {
            append_hex(out, "\\u00", static_cast<unsigned char>(bytes[1]));
        } else if (length == 0 || is_c1_control(bytes.substr(0, length))) {
            append_hex(out, bad_byte, byte);
            length = 1;
        } else {
            out.append(bytes.substr(0, length));
        }
        bytes.remove_prefix(length);
    }
}

// `kept`: control characters that stay.
std::string escape_controls(std::string_view text, std::string_view kept) {
    Buffer out;
    while (!text.empty()) {
        std::size_t length = utf8_length(text);
        const auto byte = static_cast<unsigned char>(text[0]);
        const bool is_control = (byte < 0x20 || byte == 0x7f) && kept.find(text[0]) == kept.npos;
        if (length == 0 || is_control || is_c1_control(text.substr(0, length))) {
            append_hex(out, "\\x", byte);
            length = 1;
        } else {
            out.append(text.substr(0, length));
        }
        text.remove_prefix(length);
    }
    return {out.data(), out.size()};
}

}  // namespace

void append_quoted(Buffer& out, std::string_view bytes, Format format) {
    out.push_back('"');
    std::size_t plain = 0;
    while (plain < bytes.size() && is_plain(static_cast<unsigned char>(bytes[plain])))
        ++plain;
    out.append(bytes.substr(0, plain));
    append_escaped(out, bytes.substr(plain), format);
    out.push_back('"');
}

std::string quoted(std::string_view bytes, Format format) {
    Buffer out;
    append_quoted(out, bytes, format);
    return {out.data(), out.size()};
}

std::string printable(std::string_view text) {
    return escape_controls(text, "\n\t");
}

std::string printable_name(std::string_view name) {
    return escape_controls(name, "");
}

}  // namespace djprobe::loader
