// SPDX-License-Identifier: GPL-2.0
#include "debuginfo/source_type.h"

#include <dwarf.h>

#include <optional>

namespace djprobe::loader {
namespace {

// Pointers to pointers and so on; deeper ones only a broken file has.
constexpr int kDeepest = 32;

std::string name_of(Dwarf_Die& die) {
    const char* const name = dwarf_diename(&die);
    return name ? name : "";
}

std::optional<Dwarf_Die> next(Dwarf_Die& die) {
    Dwarf_Attribute attribute;
    Dwarf_Die type;
    if (!dwarf_attr_integrate(&die, DW_AT_type, &attribute)) return std::nullopt;
    if (!dwarf_formref_die(&attribute, &type)) return std::nullopt;
    return type;
}

std::uint64_t unsigned_of(Dwarf_Die& die, unsigned name) {
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    if (dwarf_attr_integrate(&die, name, &attribute)) dwarf_formudata(&attribute, &value);
    return value;
}

// One layer for each dimension. A flexible array has no count.
bool add_dimensions(Dwarf_Die& array, SourceType& type) {
    Dwarf_Die child;
    for (int more = dwarf_child(&array, &child); more == 0;
         more = dwarf_siblingof(&child, &child)) {
        if (dwarf_tag(&child) != DW_TAG_subrange_type) continue;
        const bool has_bound = dwarf_hasattr(&child, DW_AT_upper_bound);
        const std::uint64_t count =
            has_bound ? unsigned_of(child, DW_AT_upper_bound) + 1 : unsigned_of(child, DW_AT_count);
        if (count == 0 || count > UINT32_MAX) return false;
        type.layers.push_back({false, static_cast<std::uint32_t>(count)});
    }
    return true;
}

void end_with(Dwarf_Die& die, const char* tag, SourceType& type) {
    type.size = unsigned_of(die, DW_AT_byte_size);
    if (const std::string name = name_of(die); !name.empty()) type.names.push_back({tag, name});
}

void end_with_number(Dwarf_Die& die, const char* tag, SourceType& type) {
    end_with(die, tag, type);
    const std::uint64_t encoding = unsigned_of(die, DW_AT_encoding);
    type.is_number = true;
    type.is_signed = encoding == DW_ATE_signed || encoding == DW_ATE_signed_char;
}

// False where the type ends.
bool add(Dwarf_Die& die, SourceType& type) {
    switch (dwarf_tag(&die)) {
        case DW_TAG_const_type:
        case DW_TAG_volatile_type:
        case DW_TAG_restrict_type:
        case DW_TAG_atomic_type:
            return true;
        case DW_TAG_typedef:
            type.names.push_back({"", name_of(die)});
            return true;
        case DW_TAG_pointer_type:
            // A typedef of a pointer has no name of its own here.
            type.names.clear();
            type.layers.push_back({});
            return true;
        case DW_TAG_array_type:
            type.names.clear();
            type.is_understood = add_dimensions(die, type);
            return type.is_understood;
        case DW_TAG_base_type:
            return end_with_number(die, "", type), false;
        case DW_TAG_enumeration_type:
            return end_with_number(die, "enum", type), false;
        case DW_TAG_structure_type:
            return end_with(die, "struct", type), false;
        case DW_TAG_union_type:
            return end_with(die, "union", type), false;
        case DW_TAG_subroutine_type:
            type.names.clear();
            return false;
        default:
            type.is_understood = false;
            return false;
    }
}

}  // namespace

SourceType type_of(Dwarf_Die variable) {
    SourceType type;
    Dwarf_Die die = variable;
    for (int i = 0; i < kDeepest; ++i) {
        const std::optional<Dwarf_Die> behind = next(die);
        if (!behind) return type;
        die = *behind;
        if (!add(die, type)) return type;
    }
    type.is_understood = false;
    return type;
}

std::optional<BaseType> base_type_of(Dwarf_Die type) {
    if (dwarf_tag(&type) != DW_TAG_base_type) return std::nullopt;
    const std::uint64_t size = unsigned_of(type, DW_AT_byte_size);
    switch (unsigned_of(type, DW_AT_encoding)) {
        case DW_ATE_signed:
        case DW_ATE_signed_char:
            return BaseType{size, true};
        case DW_ATE_unsigned:
        case DW_ATE_unsigned_char:
        case DW_ATE_boolean:
            return BaseType{size, false};
        default:
            return std::nullopt;
    }
}

}  // namespace djprobe::loader
