// SPDX-License-Identifier: GPL-2.0
#include "trace/cell.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "decode/btf_util.h"
#include "decode/hexdump.h"

namespace djprobe::loader {
namespace {

// The upper half of the addresses is the kernel's.
constexpr std::uint64_t kKernel = std::uint64_t{1} << 63;

const btf_member& find_member(const btf& types, std::uint32_t record_type,
                              const std::string& name) {
    const btf_type& record = type_at(types, record_type);
    for (std::uint32_t i = 0; i < btf_vlen(&record); ++i)
        if (printable_name(types, btf_members(&record)[i].name_off) == name)
            return btf_members(&record)[i];
    fail(ExitCode::kBadFile, "the program's event has no member '{}'", name);
}

std::string run(Formatter& formatter, std::span<const std::byte> bytes) {
    Buffer out;
    formatter.append(out, bytes);
    return {out.data(), out.size()};
}

// In a column of its own a string needs no quotes, and so none of the backslashes before those in
// it.
std::string unquoted(std::string_view quoted) {
    std::string text;
    for (std::size_t i = 1; i + 1 < quoted.size(); ++i) {
        const bool escapes = quoted[i] == '\\';
        if (escapes && quoted[i + 1] != '"') text += quoted[i];
        if (escapes) ++i;
        text += quoted[i];
    }
    return text;
}

std::string internet_address(std::span<const std::byte> bytes) {
    char text[INET6_ADDRSTRLEN] = "";
    inet_ntop(bytes.size() == 4 ? AF_INET : AF_INET6, bytes.data(), text, sizeof text);
    return text;
}

}  // namespace

Cell::Cell(const btf& types, std::uint32_t record_type, const Field& field, Symbolizer& symbolizer)
    : shape_(field.shape),
      text_(DecodePlan::compile(types, find_member(types, record_type, field.name).type,
                                Format::kText)),
      json_(DecodePlan::compile(types, find_member(types, record_type, field.name).type,
                                Format::kJson)),
      symbolizer_(symbolizer) {
    const btf_member& member = find_member(types, record_type, field.name);
    offset_ = member.offset / 8;
    size_ = text_.plan().size();
    const btf_type& type = type_at(types, skip_modifiers(types, member.type));
    is_number_ = btf_is_int(&type) && shape_ != Shape::kSymbol && shape_ != Shape::kFunction &&
                 shape_ != Shape::kAddress;
    is_pointer_ = btf_is_ptr(&type);
    is_string_ = btf_is_array(&type) && is_char(types, btf_array(&type)->type);
}

std::span<const std::byte> Cell::bytes(std::span<const std::byte> record) const {
    return record.subspan(offset_, size_);
}

std::uint64_t Cell::number(std::span<const std::byte> record) const {
    std::uint64_t number = 0;
    std::memcpy(&number, bytes(record).data(), std::min<std::size_t>(size_, sizeof number));
    return number;
}

std::string Cell::symbol(std::uint64_t address) {
    return address >= kKernel ? symbolizer_.describe(address) : fmt::format("{:#x}", address);
}

std::vector<std::string> Cell::frames(std::span<const std::byte> record) {
    std::vector<std::string> names;
    for (std::size_t at = 0; at + 8 <= size_; at += 8) {
        std::uint64_t address = 0;
        std::memcpy(&address, bytes(record).data() + at, sizeof address);
        if (address == 0) break;
        names.push_back(symbol(address));
    }
    return names;
}

// What the type alone does not say.
std::string Cell::shaped(std::span<const std::byte> record) {
    switch (shape_) {
        case Shape::kHex:
            return fmt::format("{:#x}", number(record));
        case Shape::kSymbol:
            return symbol(number(record));
        case Shape::kFunction: {
            const std::string name = symbol(number(record));
            return name.substr(0, name.rfind("+0x"));
        }
        case Shape::kAddress:
            return internet_address(bytes(record));
        case Shape::kBytes: {
            Buffer out;
            append_hex(out, bytes(record));
            return {out.data(), out.size()};
        }
        default:
            return "";
    }
}

std::string Cell::text(std::span<const std::byte> record) {
    if (shape_ == Shape::kTime)
        return fmt::format("{}.{:06}", number(record) / 1'000'000'000,
                           number(record) / 1000 % 1'000'000);
    if (is_stack()) return fmt::format("{}", fmt::join(frames(record), ";"));
    if (shape_ != Shape::kValue && !is_stack_id()) return shaped(record);
    const std::string value = run(text_, bytes(record));
    return is_string_ ? unquoted(value) : value;
}

std::string Cell::json(std::span<const std::byte> record) {
    if (is_stack()) {
        const std::vector<std::string> names = frames(record);
        return names.empty() ? "[]" : fmt::format("[\"{}\"]", fmt::join(names, "\",\""));
    }
    const bool by_type =
        shape_ == Shape::kValue || shape_ == Shape::kTime || shape_ == Shape::kStackId;
    if (by_type) return run(json_, bytes(record));
    return '"' + shaped(record) + '"';
}

}  // namespace djprobe::loader
