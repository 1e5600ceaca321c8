// SPDX-License-Identifier: GPL-2.0
#include "trace/source_types.h"

#include <algorithm>

namespace djprobe::loader {
namespace {

std::optional<TypeId> number_of(const Types& types, const SourceType& type) {
    if (!type.is_number) return std::nullopt;
    if (type.size == 4 || type.size == 8) return types.number(type.size == 8, type.is_signed);
    const std::string sign = type.is_signed ? "" : "unsigned ";
    if (type.size == 2) return types.find("", sign + "short");
    if (type.size == 1) return types.find("", type.is_signed ? "signed char" : "unsigned char");
    return std::nullopt;
}

// Several structs of a kernel may have one name: the size tells those that differ apart.
std::optional<TypeId> named(const Types& types, const SourceType& type) {
    for (const SourceType::Name& name : type.names) {
        const auto found = types.find(name.tag, name.name);
        if (found && (type.size == 0 || types.size(*found) == type.size)) return found;
    }
    return number_of(types, type);
}

}  // namespace

std::optional<TypeId> find_type(Types& types, const SourceType& type) {
    if (!type.is_understood) return std::nullopt;
    std::optional<TypeId> found = named(types, type);
    const bool is_pointed_to = !type.layers.empty() && type.layers.back().is_pointer;
    if (!found && is_pointed_to) found = 0;
    if (!found) return std::nullopt;
    for (auto layer = type.layers.rbegin(); layer != type.layers.rend(); ++layer)
        found = layer->is_pointer ? types.pointer_to(*found) : types.array_of(*found, layer->count);
    return found;
}

}  // namespace djprobe::loader
