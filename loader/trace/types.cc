// SPDX-License-Identifier: GPL-2.0
#include "trace/types.h"

#include <bpf/libbpf.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <map>
#include <sstream>

#include "base/error.h"
#include "decode/btf_util.h"
#include "kernel/prototypes.h"
#include "object/libbpf_log.h"

namespace djprobe::loader {
namespace {

// Structs without a name in others; deeper ones no compiler makes.
constexpr int kDeepest = 16;

bool is_kind(const btf_type& type, std::string_view tag) {
    if (tag == "struct") return btf_is_struct(&type);
    if (tag == "union") return btf_is_union(&type);
    if (tag == "enum") return btf_is_any_enum(&type);
    return btf_is_typedef(&type) || btf_is_int(&type);
}

// C lets one write "unsigned" for what BTF calls "unsigned int", and the words in any order.
std::string basic_name(const std::string& name) {
    static constexpr std::string_view kWords[] = {"long",   "short", "unsigned",
                                                  "signed", "char",  "int"};
    std::map<std::string_view, int> times;
    std::istringstream stream(name);
    for (std::string word; stream >> word;) {
        const auto* const known = std::ranges::find(kWords, word);
        if (known == std::end(kWords)) return name;
        ++times[*known];
    }
    const bool is_char = times["char"] != 0, is_short = times["short"] != 0;
    const bool is_unsigned = times["unsigned"] != 0;
    if (is_char) return is_unsigned ? "unsigned char" : times["signed"] ? "signed char" : "char";
    std::string basic;
    for (int i = 0; i < times["long"]; ++i)
        basic += "long ";
    if (is_short) basic += "short ";
    return basic + (is_unsigned ? "unsigned int" : "int");
}

// libbpf has numbers of its own, which strerror() does not know.
std::string reason(int error) {
    char text[128] = "";
    libbpf_strerror(error, text, sizeof text);
    return text;
}

std::optional<Member> find_member(const btf& all, const btf_type& composite, std::string_view name,
                                  int depth) {
    for (std::uint32_t i = 0; i < btf_vlen(&composite); ++i) {
        const btf_member& member = btf_members(&composite)[i];
        const std::string_view its = printable_name(all, member.name_off);
        if (its == name) return Member{member.type, btf_member_bitfield_size(&composite, i) != 0};
        if (!its.empty() || depth == kDeepest) continue;
        const btf_type& inner = type_at(all, skip_modifiers(all, member.type));
        if (!btf_is_composite(&inner)) continue;
        if (const auto found = find_member(all, inner, name, depth + 1)) return found;
    }
    return std::nullopt;
}

void add_names(const btf& all, const btf_type& composite, std::vector<std::string>& names,
               int depth) {
    for (std::uint32_t i = 0; i < btf_vlen(&composite); ++i) {
        const btf_member& member = btf_members(&composite)[i];
        const std::string_view its = printable_name(all, member.name_off);
        if (!its.empty()) {
            names.emplace_back(its);
            continue;
        }
        const btf_type& inner = type_at(all, skip_modifiers(all, member.type));
        if (btf_is_composite(&inner) && depth < kDeepest) add_names(all, inner, names, depth + 1);
    }
}

bool has_constant(const btf& all, const btf_type& type, std::string_view name) {
    for (std::uint32_t i = 0; i < btf_vlen(&type); ++i) {
        const std::uint32_t offset =
            btf_is_enum64(&type) ? btf_enum64(&type)[i].name_off : btf_enum(&type)[i].name_off;
        if (printable_name(all, offset) == name) return true;
    }
    return false;
}

}  // namespace

Types Types::read(const std::filesystem::path& kernel, const std::string& module) {
    const LibbpfLog quiet(false);  // the error is ours to tell
    OwnedBtf base(btf__parse(kernel.c_str(), nullptr));
    if (!base) fail(ExitCode::kBadFile, "{}: no kernel types: {}", kernel.string(), reason(errno));
    if (module.empty()) {
        OwnedBtf made(btf__new_empty_split(base.get()));
        return {std::move(base), std::move(made), 1};
    }
    const std::filesystem::path file = kernel.parent_path() / module;
    if (!std::filesystem::exists(file)) {
        OwnedBtf made(btf__new_empty_split(base.get()));
        const TypeId none = btf__type_cnt(base.get());
        return {std::move(base), std::move(made), none};
    }
    // The types that are made join the module's: libbpf 1.1 loses the names where a split BTF
    // stands on another.
    OwnedBtf split(btf__parse_split(file.c_str(), base.get()));
    if (!split)
        fail(ExitCode::kBadFile, "{}: no types of module {}: {}", file.string(), module,
             reason(errno));
    const TypeId first = btf__type_cnt(base.get());
    return {std::move(base), std::move(split), first};
}

Types::Types(OwnedBtf kernel, OwnedBtf made, TypeId first_function)
    : kernel_(std::move(kernel)), made_(std::move(made)), first_function_(first_function) {
    if (!made_) fail(ExitCode::kFailure, "BTF: {}", std::strerror(errno));
    const auto add = [this](const char* name, std::size_t size, int encoding) {
        const int type = btf__add_int(made_.get(), name, size, encoding);
        if (type < 0) fail(ExitCode::kFailure, "BTF: {}", std::strerror(-type));
        return static_cast<TypeId>(type);
    };
    numbers_[0][0] = add("unsigned int", 4, 0);
    numbers_[0][1] = add("int", 4, BTF_INT_SIGNED);
    numbers_[1][0] = add("unsigned long", 8, 0);
    numbers_[1][1] = add("long", 8, BTF_INT_SIGNED);
}

const btf_type& Types::resolved(TypeId type) const {
    return type_at(all(), skip_modifiers(all(), type));
}

bool Types::is_pointer(TypeId type) const {
    return btf_is_ptr(&resolved(type));
}

bool Types::is_integer(TypeId type) const {
    const btf_type& its = resolved(type);
    return (btf_is_int(&its) && its.size <= 8) || btf_is_any_enum(&its);
}

bool Types::is_composite(TypeId type) const {
    return btf_is_composite(&resolved(type));
}

bool Types::is_array(TypeId type) const {
    return btf_is_array(&resolved(type));
}

std::uint32_t Types::elements(TypeId array) const {
    return btf_array(&resolved(array))->nelems;
}

TypeId Types::target(TypeId type) const {
    const btf_type& its = resolved(type);
    return btf_is_array(&its) ? btf_array(&its)->type : its.type;
}

std::uint32_t Types::size(TypeId type) const {
    if (type == 0) return 0;
    const std::int64_t size = btf__resolve_size(&all(), type);
    return size < 0 || size > UINT32_MAX ? 0 : static_cast<std::uint32_t>(size);
}

bool Types::is_signed(TypeId type) const {
    const btf_type& its = resolved(type);
    if (btf_is_int(&its)) return (btf_int_encoding(&its) & BTF_INT_SIGNED) != 0;
    return btf_is_any_enum(&its) && btf_kflag(&its);
}

bool Types::is_const(TypeId type) const {
    for (int i = 0; i < kDeepest && type != 0; ++i) {
        const btf_type& its = type_at(all(), type);
        if (btf_is_const(&its)) return true;
        if (!btf_is_mod(&its) && !btf_is_typedef(&its)) return false;
        type = its.type;
    }
    return false;
}

TypeId Types::unqualified(TypeId type) const {
    for (int i = 0; i < kDeepest && type != 0 && btf_is_mod(&type_at(all(), type)); ++i)
        type = type_at(all(), type).type;
    return type;
}

std::optional<Member> Types::member(TypeId composite, std::string_view name) const {
    return find_member(all(), resolved(composite), name, 0);
}

std::vector<std::string> Types::member_names(TypeId composite) const {
    std::vector<std::string> names;
    add_names(all(), resolved(composite), names, 0);
    return names;
}

std::string Types::name(TypeId type) const {
    return declare(type, "");
}

std::string Types::declare(TypeId type, const std::string& variable) const {
    return c_declaration(all(), type, variable);
}

std::optional<TypeId> Types::find(std::string_view tag, const std::string& name) const {
    if (tag.empty() && name == "void") return 0;
    const std::string wanted = tag.empty() ? basic_name(name) : name;
    for (TypeId id = 1; id < btf__type_cnt(&all()); ++id) {
        const btf_type& type = type_at(all(), id);
        if (is_kind(type, tag) && btf_name(all(), type) == wanted) return id;
    }
    return std::nullopt;
}

bool Types::is_typedef(std::string_view name) const {
    return btf__find_by_name_kind(&all(), std::string(name).c_str(), BTF_KIND_TYPEDEF) > 0;
}

std::optional<TypeId> Types::enum_with(std::string_view constant) const {
    for (TypeId id = 1; id < btf__type_cnt(&all()); ++id) {
        const btf_type& type = type_at(all(), id);
        if (btf_is_any_enum(&type) && has_constant(all(), type, constant)) return id;
    }
    return std::nullopt;
}

std::optional<Function> Types::function(std::string_view name) const {
    std::optional<TypeId> prototype;
    for (TypeId id = first_function_; id < btf__type_cnt(&all()); ++id) {
        const btf_type& type = type_at(all(), id);
        if (!btf_is_func(&type) || btf_name(all(), type) != name) continue;
        if (prototype && *prototype != type.type)
            fail(ExitCode::kNoSuchSite,
                 "{}: the kernel has several functions of this name, with other arguments", name);
        prototype = type.type;
    }
    if (!prototype) return std::nullopt;
    const btf_type& its = type_at(all(), *prototype);
    Function function{std::string(name), {}, its.type};
    for (std::uint32_t i = 0; i < btf_vlen(&its); ++i) {
        const btf_param& parameter = btf_params(&its)[i];
        if (parameter.type == 0) break;  // the dots of printf()
        std::string word(printable_name(all(), parameter.name_off));
        if (word.empty()) word = fmt::format("arg{}", i + 1);
        function.arguments.push_back({std::move(word), parameter.type});
    }
    return function;
}

std::vector<std::string> Types::function_names() const {
    std::vector<std::string> names;
    for (TypeId id = first_function_; id < btf__type_cnt(&all()); ++id)
        if (btf_is_func(&type_at(all(), id)))
            names.emplace_back(btf_name(all(), type_at(all(), id)));
    return names;
}

TypeId Types::pointer_to(TypeId type) {
    const int made = btf__add_ptr(made_.get(), static_cast<int>(type));
    if (made < 0) fail(ExitCode::kFailure, "BTF: {}", std::strerror(-made));
    return static_cast<TypeId>(made);
}

TypeId Types::array_of(TypeId type, std::uint32_t count) {
    const int index = static_cast<int>(numbers_[0][0]);
    const int made = btf__add_array(made_.get(), index, static_cast<int>(type), count);
    if (made < 0) fail(ExitCode::kFailure, "BTF: {}", std::strerror(-made));
    return static_cast<TypeId>(made);
}

TypeId Types::named_number(TypeId type) const {
    const btf_type& its = type_at(all(), unqualified(type));
    if (!btf_is_any_enum(&its) || its.name_off != 0) return type;
    return number(its.size == 8, is_signed(type) || its.size < 8);
}

TypeId Types::number(bool is_wide, bool is_signed) const {
    return numbers_[is_wide ? 1 : 0][is_signed ? 1 : 0];
}

}  // namespace djprobe::loader
