// SPDX-License-Identifier: GPL-2.0
#include "decode/formatter.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <iterator>
#include <string_view>

#include "decode/hex.h"
#include "decode/quote.h"

namespace djprobe::loader {
namespace {

using namespace std::string_view_literals;

// A longer value does not push the columns behind it to the right for good.
constexpr std::size_t kWidestColumn = 32;

template <typename Number>
void append_number(Buffer& out, Number number, int base = 10) {
    char digits[24];
    const auto end = std::to_chars(std::begin(digits), std::end(digits), number, base).ptr;
    out.append(digits, end);
}

std::uint64_t load_bytes(const std::byte* from, std::uint32_t size) {
    std::uint64_t value = 0;
    switch (size) {
        case 1:
            return std::to_integer<std::uint8_t>(*from);
        case 2: {
            std::uint16_t half = 0;
            std::memcpy(&half, from, sizeof half);
            return half;
        }
        case 4: {
            std::uint32_t word = 0;
            std::memcpy(&word, from, sizeof word);
            return word;
        }
        default:
            std::memcpy(&value, from, sizeof value);
            return value;
    }
}

// A packed bitfield of 64 bits may straddle nine bytes.
std::uint64_t load_bits(const Op& op, const std::byte* from) {
    const unsigned bits = op.bit_shift + op.bit_size;
    std::uint64_t low = 0;
    std::memcpy(&low, from, std::min<std::size_t>((bits + 7) / 8, sizeof low));
    std::uint64_t value = low >> op.bit_shift;
    if (bits > 64) value |= std::to_integer<std::uint64_t>(from[8]) << (64 - op.bit_shift);
    return op.bit_size >= 64 ? value : value & ((1ULL << op.bit_size) - 1);
}

std::uint64_t load(const Op& op, const std::byte* from) {
    return op.bit_size != 0 ? load_bits(op, from) : load_bytes(from, op.size);
}

std::int64_t sign_extend(std::uint64_t value, unsigned bits) {
    const unsigned shift = 64 - bits;
    return static_cast<std::int64_t>(value << shift) >> shift;
}

unsigned value_bits(const Op& op) {
    return op.bit_size != 0 ? op.bit_size : op.size * 8;
}

void append_enum(Buffer& out, const Op& op, const Enumeration& enumeration, std::uint64_t value,
                 Format format) {
    const bool is_signed = enumeration.is_signed;
    // A bitfield holds fewer bits than the table's values.
    std::uint64_t key = value;
    if (is_signed && op.bit_size != 0) {
        key = static_cast<std::uint64_t>(sign_extend(value, op.bit_size));
        if (op.size < 8) key &= (1ULL << (op.size * 8)) - 1;
    }
    const auto found =
        std::ranges::lower_bound(enumeration.entries, key, {}, &Enumeration::Entry::value);
    if (found == enumeration.entries.end() || found->value != key) {
        if (is_signed) return append_number(out, sign_extend(value, value_bits(op)));
        return append_number(out, value);
    }
    if (format == Format::kJson) out.push_back('"');
    out.append(found->name);
    if (format == Format::kJson) out.push_back('"');
}

void append_pointer(Buffer& out, std::uint64_t value, Format format) {
    out.append(format == Format::kJson ? "\"0x"sv : "0x"sv);
    append_number(out, value, 16);
    if (format == Format::kJson) out.push_back('"');
}

void append_float(Buffer& out, const std::byte* from, std::uint32_t size, Format format) {
    double wide = 0;
    float narrow = 0;
    std::memcpy(size == 8 ? static_cast<void*>(&wide) : &narrow, from, size);
    const bool finite = size == 8 ? std::isfinite(wide) : std::isfinite(narrow);
    if (!finite && format == Format::kJson) return out.append("null"sv);
    // The shortest digits that read back as the same value: they differ by type.
    if (size == 8) {
        fmt::format_to(fmt::appender(out), "{}", wide);
    } else {
        fmt::format_to(fmt::appender(out), "{}", narrow);
    }
}

void append_bytes(Buffer& out, const std::byte* from, std::uint32_t size, Format format) {
    out.append(format == Format::kJson ? "\"0x"sv : "0x"sv);
    for (std::uint32_t i = size; i-- > 0;)
        append_hex_byte(out, std::to_integer<std::uint8_t>(from[i]));
    if (format == Format::kJson) out.push_back('"');
}

}  // namespace

void Formatter::append(Buffer& out, std::span<const std::byte> record) {
    record_ = record.data();
    record_end_ = record.data() + record.size();
    run(plan_.ops(), record.data(), out);
}

void Formatter::run(std::span<const Op> ops, const std::byte* base, Buffer& out) {
    for (std::size_t i = 0; i < ops.size(); ++i) {
        const Op& op = ops[i];
        out.append(plan_.literal(op));
        if (op.kind == OpKind::kArray) {
            append_array(op, ops.subspan(i + 1, op.body), base, out);
            i += op.body;
        } else if (op.column == kNoColumn) {
            append_value(op, base, out);
        } else {
            const std::size_t start = out.size();
            append_value(op, base, out);
            pad(op, start, out);
        }
    }
}

void Formatter::append_value(const Op& op, const std::byte* base, Buffer& out) {
    const Format format = plan_.format();
    const std::byte* const from = base + op.offset;
    switch (op.kind) {
        case OpKind::kLiteral:
        case OpKind::kArray:
            return;
        case OpKind::kUnsigned:
            return append_number(out, load(op, from));
        case OpKind::kSigned:
            return append_number(out, sign_extend(load(op, from), value_bits(op)));
        case OpKind::kBool:
            return out.append(load(op, from) != 0 ? "true"sv : "false"sv);
        case OpKind::kEnum:
            return append_enum(out, op, plan_.enumeration(op), load(op, from), format);
        case OpKind::kPointer:
            return append_pointer(out, load(op, from), format);
        case OpKind::kFloat:
            return append_float(out, from, op.size, format);
        case OpKind::kString: {
            const std::size_t room =
                op.count == kToRecordEnd ? static_cast<std::size_t>(record_end_ - from) : op.count;
            const std::string_view text(reinterpret_cast<const char*>(from), room);
            return append_quoted(out, text.substr(0, text.find('\0')), format);
        }
        case OpKind::kStack:
        case OpKind::kBuildIdStack:
            return append_stack(op, from, out);
        case OpKind::kBytes:
            return append_bytes(out, from, op.size, format);
    }
}

void Formatter::append_array(const Op& op, std::span<const Op> body, const std::byte* base,
                             Buffer& out) {
    const std::byte* element = base + op.offset;
    std::size_t count = op.count;
    if (op.count == kToRecordEnd) {
        count = op.size == 0 ? 0 : static_cast<std::size_t>(record_end_ - element) / op.size;
    }
    for (std::size_t i = 0; i < count; ++i, element += op.size) {
        if (i != 0) out.append(plan_.format() == Format::kJson ? ","sv : ", "sv);
        run(body, element, out);
    }
}

std::uint32_t Formatter::process() const {
    std::uint32_t process = 0;
    const auto size = static_cast<std::size_t>(record_end_ - record_);
    if (const auto at = plan_.process_at(); at && *at + sizeof process <= size)
        std::memcpy(&process, record_ + *at, sizeof process);
    return process;
}

void Formatter::append_stack(const Op& op, const std::byte* from, Buffer& out) {
    const StackKind kind = op.kind == OpKind::kStack ? StackKind::kAddresses : StackKind::kBuildIds;
    const std::uint32_t process = this->process();
    const auto room = static_cast<std::size_t>(record_end_ - from);
    const std::size_t size =
        op.count == kToRecordEnd ? room : std::min(room, std::size_t{op.size} * op.count);
    const bool json = plan_.format() == Format::kJson;
    out.push_back('[');
    bool first = true;
    for (const Frame& frame : frames_in(kind, {from, size})) {
        if (!first) out.append(json ? ","sv : ", "sv);
        first = false;
        const std::string name =
            names_ ? names_->full(frame, process) : fmt::format("{:#x}", frame.address);
        json ? append_quoted(out, name, Format::kJson) : out.append(name);
    }
    out.push_back(']');
}

void Formatter::pad(const Op& op, std::size_t start, Buffer& out) {
    // Trailing blanks would align nothing.
    if (op.column + 1 == plan_.columns()) return;
    constexpr std::string_view kBlanks = "                                ";
    static_assert(kBlanks.size() == kWidestColumn);
    const std::size_t width = out.size() - start;
    std::uint16_t& widest = widths_[op.column];
    if (width < widest) {
        out.append(kBlanks.substr(0, widest - width));
    } else {
        widest = static_cast<std::uint16_t>(std::min(width, kWidestColumn));
    }
}

}  // namespace djprobe::loader
