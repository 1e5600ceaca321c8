// SPDX-License-Identifier: GPL-2.0
#include <bpf/btf.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "decode/btf_util.h"
#include "decode/globals.h"
#include "kernel/site_spec.h"
#include "object/assign.h"

namespace djprobe::loader {
namespace {

/// A place in the memory that the kernel gets as the first value of a section.
struct Place {
    std::uint32_t type_id;
    std::span<char> bytes;
};

std::string names_of(const std::vector<Global>& globals) {
    std::string names;
    for (const Global& global : globals)
        names += (names.empty() ? "" : ", ") + global.name;
    return names.empty() ? "none" : names;
}

// The first value of a section, as the object has it; none for a section that libbpf fills.
std::vector<char> section_of(const Global& global) {
    std::size_t size = 0;
    const auto* const first = static_cast<const char*>(bpf_map__initial_value(global.map, &size));
    if (!first || std::size_t{global.offset} + global.size > size) return {};
    return {first, first + size};
}

// The text's words between separators.
std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> words;
    for (;;) {
        const std::size_t at = text.find(separator);
        words.emplace_back(text.substr(0, at));
        if (at == text.npos) return words;
        text.remove_prefix(at + 1);
    }
}

// Sign or not, whatever fits the bytes.
std::optional<std::uint64_t> parse_integer(std::string_view text, std::size_t size) {
    const bool negative = text.starts_with('-');
    const auto number = parse_unsigned(text.substr(negative ? 1 : 0));
    if (!number) return std::nullopt;
    const std::uint64_t half = std::uint64_t{1} << (size * 8 - 1);
    if (negative) return *number <= half ? std::optional(-*number) : std::nullopt;
    return *number <= half - 1 + half ? number : std::nullopt;
}

std::optional<std::uint64_t> enumerator(const btf& btf, const btf_type& type,
                                        std::string_view name) {
    const auto is_meant = [&](std::uint32_t at) {
        const char* const own = btf__name_by_offset(&btf, at);
        return own && name == own;
    };
    for (std::uint32_t i = 0; i < btf_vlen(&type); ++i) {
        if (btf_is_enum64(&type) && is_meant(btf_enum64(&type)[i].name_off))
            return btf_enum64_value(&btf_enum64(&type)[i]);
        if (btf_is_enum(&type) && is_meant(btf_enum(&type)[i].name_off))
            return static_cast<std::uint64_t>(std::int64_t{btf_enum(&type)[i].val});
    }
    return std::nullopt;
}

class Assignment {
  public:
    Assignment(const btf& btf, const std::string& text) : btf_(btf), text_(text) {}

    [[nodiscard]] Place member(const Place& outer, std::string_view name) const {
        const btf_type& type = type_at(btf_, skip_modifiers(btf_, outer.type_id));
        for (std::uint32_t i = 0; btf_is_composite(&type) && i < btf_vlen(&type); ++i) {
            const btf_member& member = btf_members(&type)[i];
            const std::uint32_t bits = btf_member_bit_offset(&type, i);
            const std::int64_t size = btf__resolve_size(&btf_, member.type);
            if (name != btf__str_by_offset(&btf_, member.name_off) || size < 0) continue;
            if (btf_member_bitfield_size(&type, i) != 0) wrong("a bitfield cannot be set");
            if (bits / 8 + static_cast<std::uint64_t>(size) > outer.bytes.size()) break;
            return {member.type, outer.bytes.subspan(bits / 8, static_cast<std::size_t>(size))};
        }
        wrong(fmt::format("no member '{}' there", name));
    }

    void assign(const Place& place, const std::string& value) const {
        const btf_type& type = type_at(btf_, skip_modifiers(btf_, place.type_id));
        if (!btf_is_array(&type)) return assign_scalar(type, place.bytes, value);
        const struct btf_array& array = *btf_array(&type);
        if (is_char(btf_, array.type)) return assign_text(place.bytes, value);
        const std::vector<std::string> values = split(value, ',');
        const std::size_t size = array.nelems == 0 ? 0 : place.bytes.size() / array.nelems;
        if (values.size() > array.nelems)
            wrong(fmt::format("room for {} values, not for {}", array.nelems, values.size()));
        for (std::size_t i = 0; i < values.size(); ++i)
            assign({array.type, place.bytes.subspan(i * size, size)}, values[i]);
    }

  private:
    [[noreturn]] void wrong(const std::string& why) const {
        fail(ExitCode::kUsage, "--set {}: {}", text_, why);
    }

    void assign_text(std::span<char> bytes, const std::string& value) const {
        if (value.size() >= bytes.size())
            wrong(fmt::format("a text of at most {} bytes is expected", bytes.size() - 1));
        std::ranges::fill(bytes, '\0');
        std::ranges::copy(value, bytes.begin());
    }

    void assign_scalar(const btf_type& type, std::span<char> bytes,
                       const std::string& value) const {
        const bool is_number = btf_is_int(&type) || btf_is_any_enum(&type) || btf_is_ptr(&type);
        if (!is_number || bytes.empty() || bytes.size() > sizeof(std::uint64_t))
            wrong("it is no number, enum, bool, text or array of these: name a member of it");
        std::optional<std::uint64_t> number = parse_integer(value, bytes.size());
        const bool is_bool = btf_is_int(&type) && (btf_int_encoding(&type) & BTF_INT_BOOL) != 0;
        if (is_bool && (value == "true" || value == "false")) number = value == "true";
        if (is_bool && number && *number > 1) number.reset();
        if (!number && btf_is_any_enum(&type)) number = enumerator(btf_, type, value);
        if (!number)
            wrong(is_bool ? "true or false is expected"
                  : btf_is_any_enum(&type)
                      ? "the enum has no such value"
                      : fmt::format("a number of {} bits is expected", bytes.size() * 8));
        std::memcpy(bytes.data(), &*number, bytes.size());
    }

    const btf& btf_;
    const std::string& text_;
};

}  // namespace

void assign_global(const bpf_object* object, const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == text.npos || equals == 0)
        fail(ExitCode::kUsage, "--set: '{}' is not NAME=VALUE", text);
    const btf* const types = bpf_object__btf(object);
    if (!types)
        fail(ExitCode::kUsage, "--set {}: the object has no types: compile it with -g", text);
    const std::vector<Global> globals = globals_of(object);
    // A static variable of a function is named FUNCTION.VARIABLE.
    const std::string path = text.substr(0, equals);
    auto global = std::ranges::find(globals, path, &Global::name);
    const std::vector<std::string> members = split(path, '.');
    const bool is_whole = global != globals.end();
    if (!is_whole) global = std::ranges::find(globals, members.front(), &Global::name);
    if (global == globals.end())
        fail(ExitCode::kUsage, "--set {}: no global variable '{}'; there are: {}", text,
             members.front(), names_of(globals));
    const Assignment assignment(*types, text);
    std::vector<char> section = section_of(*global);
    if (section.empty())
        fail(ExitCode::kUsage, "--set {}: '{}' has no first value", text, global->name);
    Place place{global->type_id, std::span(section).subspan(global->offset, global->size)};
    for (std::size_t i = 1; !is_whole && i < members.size(); ++i)
        place = assignment.member(place, members[i]);
    assignment.assign(place, text.substr(equals + 1));
    bpf_map__set_initial_value(global->map, section.data(), section.size());
}

}  // namespace djprobe::loader
