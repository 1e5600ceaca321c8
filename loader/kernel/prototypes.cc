// SPDX-License-Identifier: GPL-2.0
#include "kernel/prototypes.h"

#include <fmt/core.h>

#include <utility>

#include "base/error.h"
#include "decode/btf_util.h"

namespace djprobe::loader {
namespace {

// Deeper ones are not written by hand.
constexpr int kDeepest = 32;

std::string declaration(const btf& types, std::uint32_t id, std::string name, int depth);

std::string join(const std::string& type, const std::string& name) {
    return name.empty() ? type : type + " " + name;
}

std::string tagged(const char* tag, const btf& types, const btf_type& type) {
    const std::string_view name = printable_name(types, type.name_off);
    return fmt::format("{} {}", tag, name.empty() ? "{...}" : name);
}

std::string parameters(const btf& types, const btf_type& function, int depth) {
    std::string list;
    const btf_param* const all = btf_params(&function);
    for (int i = 0; i < btf_vlen(&function); ++i) {
        const bool more = all[i].type == 0 && i + 1 == btf_vlen(&function);
        list += list.empty() ? "" : ", ";
        list += more ? "..."
                     : declaration(types, all[i].type,
                                   std::string(printable_name(types, all[i].name_off)), depth);
    }
    return list.empty() ? "void" : list;
}

std::string qualified(const char* word, const btf& types, const btf_type& type, std::string name,
                      int depth) {
    const btf_type& inner = type_at(types, type.type);
    // What stands behind a pointer's star is about the pointer.
    if (btf_is_ptr(&inner)) return declaration(types, type.type, join(word, name), depth);
    return fmt::format("{} {}", word, declaration(types, type.type, std::move(name), depth));
}

std::string pointer(const btf& types, const btf_type& type, const std::string& name, int depth) {
    std::uint32_t target = type.type;
    for (int i = 0; i < kDeepest && btf_is_type_tag(&type_at(types, target)); ++i)
        target = type_at(types, target).type;
    const btf_type& inner = type_at(types, target);
    const bool binds = btf_is_func_proto(&inner) || btf_is_array(&inner);
    return declaration(types, target, binds ? "(*" + name + ")" : "*" + name, depth);
}

std::string declaration(const btf& types, std::uint32_t id, std::string name, int depth) {
    if (++depth > kDeepest) fail(ExitCode::kBadFile, "BTF: types nest too deep at type {}", id);
    if (id == 0) return join("void", name);
    const btf_type& type = type_at(types, id);
    switch (btf_kind(&type)) {
        case BTF_KIND_PTR:
            return pointer(types, type, name, depth);
        case BTF_KIND_ARRAY:
            return declaration(types, btf_array(&type)->type,
                               fmt::format("{}[{}]", name, btf_array(&type)->nelems), depth);
        case BTF_KIND_CONST:
            return qualified("const", types, type, std::move(name), depth);
        case BTF_KIND_VOLATILE:
            return qualified("volatile", types, type, std::move(name), depth);
        case BTF_KIND_RESTRICT:
            return qualified("restrict", types, type, std::move(name), depth);
        case BTF_KIND_TYPE_TAG:
            return declaration(types, type.type, std::move(name), depth);
        case BTF_KIND_FUNC_PROTO:
            return declaration(types, type.type,
                               fmt::format("{}({})", name, parameters(types, type, depth)), depth);
        case BTF_KIND_STRUCT:
            return join(tagged("struct", types, type), name);
        case BTF_KIND_UNION:
            return join(tagged("union", types, type), name);
        case BTF_KIND_FWD:
            return join(tagged(btf_kflag(&type) ? "union" : "struct", types, type), name);
        case BTF_KIND_ENUM:
        case BTF_KIND_ENUM64:
            return join(tagged("enum", types, type), name);
        default:
            return join(std::string(printable_name(types, type.name_off)), name);
    }
}

Parameter parameter(const btf& types, const btf_param& of) {
    Parameter parameter{std::string(printable_name(types, of.name_off)), 0, false};
    const btf_type& type = type_at(types, skip_modifiers(types, of.type));
    if (btf_is_ptr(&type)) parameter.size = sizeof(std::uint64_t);
    const bool is_enum = btf_is_enum(&type) || btf_is_enum64(&type);
    // An int of 128 bits takes two registers.
    if ((btf_is_int(&type) || is_enum) && type.size <= sizeof(std::uint64_t))
        parameter.size = static_cast<std::uint8_t>(type.size);
    parameter.is_signed =
        is_enum ? btf_kflag(&type)
                : btf_is_int(&type) && (btf_int_encoding(&type) & BTF_INT_SIGNED) != 0;
    return parameter;
}

}  // namespace

std::string c_declaration(const btf& types, std::uint32_t type_id, const std::string& name) {
    return declaration(types, type_id, name, 0);
}

Prototypes::Prototypes(std::filesystem::path directory) : directory_(std::move(directory)) {}

Prototypes::Table& Prototypes::table(const std::string& module) {
    const auto [known, is_new] = tables_.try_emplace(module);
    Table& found = known->second;
    if (!is_new) return found;
    const std::filesystem::path path = directory_ / (module.empty() ? "vmlinux" : module);
    btf* const base = module.empty() ? nullptr : table("").types.get();
    if (!module.empty() && !base) return found;
    found.types.reset(base ? btf__parse_split(path.c_str(), base)
                           : btf__parse(path.c_str(), nullptr));
    if (!found.types) return found;
    const std::uint32_t first = base ? btf__type_cnt(base) : 1;
    for (std::uint32_t id = first; id < btf__type_cnt(found.types.get()); ++id) {
        const btf_type* const type = btf__type_by_id(found.types.get(), id);
        if (!btf_is_func(type)) continue;
        const auto [entry, is_first] =
            found.functions.try_emplace(btf_name(*found.types, *type), type->type);
        if (!is_first && entry->second != type->type) entry->second = 0;
    }
    return found;
}

std::uint32_t Prototypes::prototype(const Table& known, std::string_view function) {
    const auto found = known.functions.find(function);
    return found == known.functions.end() ? 0 : found->second;
}

std::optional<std::string> Prototypes::find(std::string_view module, std::string_view function) {
    const Table& known = table(std::string(module));
    const std::uint32_t type = prototype(known, function);
    if (type == 0) return std::nullopt;
    try {
        return c_declaration(*known.types, type, std::string(function));
    } catch (const Error&) {
        return std::nullopt;
    }
}

std::optional<std::vector<Parameter>> Prototypes::parameters(std::string_view module,
                                                             std::string_view function) {
    const Table& known = table(std::string(module));
    const std::uint32_t type = prototype(known, function);
    if (type == 0) return std::nullopt;
    try {
        std::vector<Parameter> list;
        list.reserve(btf_vlen(&type_at(*known.types, type)));
        const btf_type& prototype = type_at(*known.types, type);
        for (int i = 0; i < btf_vlen(&prototype); ++i)
            list.push_back(parameter(*known.types, btf_params(&prototype)[i]));
        return list;
    } catch (const Error&) {
        return std::nullopt;
    }
}

}  // namespace djprobe::loader
